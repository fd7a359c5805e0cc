import { describe, it } from 'node:test'
import { redis } from '../../services/servers/redis/redis.ts'
import { soundOutage } from './sound-outage.ts'

// If the address of a server is given, this machine may have none that this test can start.
const skip = !(await redis.find()) && 'Redis itself is not on this machine'

describe(
  'a single writer on Redis whose destination goes away for a while',
  { skip, concurrency: true },
  () => {
    for (const kind of ['refuses', 'hangs'] as const) {
      it(`keeps writing, tries now and then, and delivers everything in the end, when it ${kind}`, (test) =>
        soundOutage(test, 'redis', kind))
    }
  },
)
