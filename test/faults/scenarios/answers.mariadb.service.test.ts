import { describe, it } from 'node:test'
import { mariadb } from '../../services/servers/mariadb/mariadb.ts'
import { answerRuns } from './sound-answers.ts'

// Where the address of one is given, there need not be another that can be harmed.
const skip = !(await mariadb.find()) && 'MariaDB itself is not on this machine'

describe('on MariaDB, with answers that come late or never', { skip }, () => {
  for (const [name, run] of answerRuns) it(name, (test) => run(test, 'mariadb'))
})
