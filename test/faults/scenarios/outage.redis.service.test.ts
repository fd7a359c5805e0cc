import { describe, it } from 'node:test'
import { redis } from '../../services/servers/redis/redis.ts'
import { soundOutage } from './sound-outage.ts'

// Where the address of one is given, there need not be another that is this test's own.
const skip = !(await redis.find()) && 'Redis itself is not on this machine'

describe(
  'a single writer on Redis whose destination goes away for a while',
  { skip, concurrency: true },
  () => {
    for (const kind of ['refuses', 'hangs'] as const) {
      it(`writes on, tries now and then, and delivers everything in the end, where it ${kind}`, (test) =>
        soundOutage(test, 'redis', kind))
    }
  },
)
