import { describe, it } from 'node:test'
import { soundClosings, soundRenewals, soundSharing } from './sound-answers.ts'

describe('on SQLite, with renewals that are lost, closings that do not wait, and workers that differ', () => {
  it('one renewal without an answer costs no lease', (test) => soundRenewals(test, 'sqlite', 'multiNode'))

  it('another process goes on at once where one is asked to end', (test) =>
    soundClosings(test, 'sqlite', 'singleWriter'))

  it('workers share slow work, and take nothing that they have no listener for', (test) =>
    soundSharing(test, 'sqlite'))
})
