import { describe, it } from 'node:test'
import { redis } from '../services/redis.ts'
import { scale } from './scale.ts'
import { soundClosings, soundRenewals, soundSharing, soundSilence } from './sound-answers.ts'

// Where the address of one is given, there need not be another that can be harmed.
const skip = !(await redis.find()) && 'Redis itself is not on this machine'

describe('on Redis, with answers that come late or never', { skip }, () => {
  it('every promise is kept', (test) => soundSilence(test, 'redis'))

  // Only at full size: the engine does the rest, and is tried on others.
  const full = { skip: scale({ small: 'only at full size', full: false }) }

  it('workers share slow work, and take nothing that they have no listener for', full, (test) =>
    soundSharing(test, 'redis'),
  )

  it('another process goes on at once where one is asked to end', full, (test) =>
    soundClosings(test, 'redis', 'singleNode'),
  )

  it('one renewal without an answer costs no lock', full, (test) =>
    soundRenewals(test, 'redis', 'singleWriter'),
  )
})
