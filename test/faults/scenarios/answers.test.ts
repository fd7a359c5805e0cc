import { describe, it } from 'node:test'
import { soundClosings, soundRenewals } from './sound-answers.ts'

describe('on SQLite, with renewals that are lost and closings that do not wait', () => {
  it('one renewal without an answer costs no lease', (test) => soundRenewals(test, 'sqlite', 'multiNode'))

  it('another process goes on at once where one is asked to end', (test) =>
    soundClosings(test, 'sqlite', 'singleWriter'))
})
