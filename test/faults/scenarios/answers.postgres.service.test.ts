import { describe, it } from 'node:test'
import { postgres } from '../../services/servers/postgres/postgres.ts'
import { answerRuns } from './sound-answers.ts'

// Where the address of one is given, there need not be another that can be harmed.
const skip = !(await postgres.find()) && 'PostgreSQL itself is not on this machine'

describe('on PostgreSQL, with answers that come late or never', { skip }, () => {
  for (const [name, run] of answerRuns) it(name, (test) => run(test, 'postgres'))
})
