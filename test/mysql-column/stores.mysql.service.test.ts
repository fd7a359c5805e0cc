import { runOnMysql } from './run-on-mysql.ts'

runOnMysql('stores', ['packages/sendoff/test/stores/'])
