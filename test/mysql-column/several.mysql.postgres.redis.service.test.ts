import { runOnMysql } from './run-on-mysql.ts'

runOnMysql('several stores at once', 'several')
