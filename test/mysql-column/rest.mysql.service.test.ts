import { runOnMysql } from './run-on-mysql.ts'

runOnMysql('inbox, mail, operators and command line', 'rest')
