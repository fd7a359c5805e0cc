import { describe, it } from 'node:test'
import { postgres } from '../services/postgres.ts'
import { answerRuns, soundSharing } from './sound-answers.ts'

// Where the address of one is given, there need not be another that can be harmed.
const skip = !(await postgres.find()) && 'PostgreSQL itself is not on this machine'

describe('on PostgreSQL, with answers that come late or never', { skip }, () => {
  // SQLite has no wake-ups: a worker that is idle there may miss a short run as a whole.
  it('workers share slow work, and take nothing that they have no listener for', (test) =>
    soundSharing(test, 'postgres'))

  for (const [name, run] of answerRuns) it(name, (test) => run(test, 'postgres'))
})
