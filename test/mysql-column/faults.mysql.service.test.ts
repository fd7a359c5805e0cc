import { runOnMysql } from './run-on-mysql.ts'

runOnMysql('faults and benchmarks', ['test/faults/', 'test/bench/'])
