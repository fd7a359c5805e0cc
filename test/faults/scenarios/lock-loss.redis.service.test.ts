import { describe, it } from 'node:test'
import { redis } from '../../services/servers/redis/redis.ts'
import { soundLockLosses } from './sound-lock-losses.ts'

// If the address of a server is given, this machine may have none that the test can harm.
const skip = !(await redis.find()) && 'Redis itself is not on this machine'

describe('a single writer on Redis whose lock is lost again and again', { skip }, () => {
  it('sends no more events twice than were in flight, and loses nothing', (test) =>
    soundLockLosses(test, 'redis'))
})
