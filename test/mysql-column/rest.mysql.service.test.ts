import { runOnMysql } from './run-on-mysql.ts'

runOnMysql('inbox, mail, operators and command line', [
  'packages/sendoff/test/admin/',
  'packages/sendoff/test/inbox/',
  'packages/sendoff/test/mail/',
  'packages/cli/test/',
])
