import { runOnMysql } from './run-on-mysql.ts'

runOnMysql('transactions', 'orms')
