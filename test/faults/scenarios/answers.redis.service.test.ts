import { describe, it } from 'node:test'
import { redis } from '../../services/servers/redis/redis.ts'
import { answerRuns } from './sound-answers.ts'

// If the address of a server is given, this machine may have none that the test can harm.
const skip = !(await redis.find()) && 'Redis itself is not on this machine'

describe('on Redis, with replies that come late or never', { skip }, () => {
  for (const [name, run] of answerRuns) it(name, (test) => run(test, 'redis'))
})
