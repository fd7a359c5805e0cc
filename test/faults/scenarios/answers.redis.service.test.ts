import { describe, it } from 'node:test'
import { redis } from '../../services/servers/redis/redis.ts'
import { answerRuns } from './sound-answers.ts'

// Where the address of one is given, there need not be another that can be harmed.
const skip = !(await redis.find()) && 'Redis itself is not on this machine'

describe('on Redis, with answers that come late or never', { skip }, () => {
  for (const [name, run] of answerRuns) it(name, (test) => run(test, 'redis'))
})
