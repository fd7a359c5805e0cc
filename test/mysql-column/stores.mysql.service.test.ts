import { runOnMysql } from './run-on-mysql.ts'

runOnMysql('stores', 'stores')
