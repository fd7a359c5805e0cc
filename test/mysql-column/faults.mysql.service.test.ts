import { runOnMysql } from './run-on-mysql.ts'

runOnMysql('faults and benchmarks', 'faults')
