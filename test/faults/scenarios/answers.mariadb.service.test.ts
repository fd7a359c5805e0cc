import { describe, it } from 'node:test'
import { mariadb } from '../../services/servers/mariadb/mariadb.ts'
import { answerRuns } from './sound-answers.ts'

// If the address of a server is given, this machine may have none that the test can harm.
const skip = !(await mariadb.find()) && 'MariaDB itself is not on this machine'

describe('on MariaDB, with replies that come late or never', { skip }, () => {
  for (const [name, run] of answerRuns) it(name, (test) => run(test, 'mariadb'))
})
