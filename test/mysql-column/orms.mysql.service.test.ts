import { runOnMysql } from './run-on-mysql.ts'

runOnMysql('transactions', ['packages/sendoff/test/transactions/'])
