import { describe, it } from 'node:test'
import { redis } from '../../services/servers/redis/redis.ts'
import { soundLockLosses } from './sound-lock-losses.ts'

// Where the address of one is given, there need not be another that can be harmed.
const skip = !(await redis.find()) && 'Redis itself is not on this machine'

describe('a single writer on Redis whose lock is lost again and again', { skip }, () => {
  it('sends no more twice than was in flight, and loses nothing', (test) => soundLockLosses(test, 'redis'))
})
