import { describe, it } from 'node:test'
import { postgres } from '../../services/servers/postgres/postgres.ts'
import { answerRuns } from './sound-answers.ts'

// If the address of a server is given, this machine may have none that the test can harm.
const skip = !(await postgres.find()) && 'PostgreSQL itself is not on this machine'

describe('on PostgreSQL, with replies that come late or never', { skip }, () => {
  for (const [name, run] of answerRuns) it(name, (test) => run(test, 'postgres'))
})
