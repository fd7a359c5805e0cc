import { describe, it } from 'node:test'
import { postgres } from '../../services/servers/postgres/postgres.ts'
import { soundLockLosses } from './sound-lock-losses.ts'

// Where the address of one is given, there need not be another that can be harmed.
const skip = !(await postgres.find()) && 'PostgreSQL itself is not on this machine'

describe('a single writer on PostgreSQL whose lock is lost again and again', { skip }, () => {
  it('sends no more twice than was in flight, and loses nothing', (test) => soundLockLosses(test, 'postgres'))
})
