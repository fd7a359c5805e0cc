import { describe, it } from 'node:test'
import { soundLockLosses } from './sound-lock-losses.ts'

describe('a single writer on SQLite whose lock is lost again and again', () => {
  it('sends no more events twice than were in flight, and loses nothing', (test) =>
    soundLockLosses(test, 'sqlite'))
})
