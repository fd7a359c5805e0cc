import { describe, it } from 'node:test'
import { soundClosings, soundRenewals } from './sound-answers.ts'

describe('on SQLite, with lost renewals and closings that do not wait', () => {
  it('one renewal without a reply costs no lease', (test) => soundRenewals(test, 'sqlite', 'multiNode'))

  it('when one process is asked to end, another continues at once', (test) =>
    soundClosings(test, 'sqlite', 'singleWriter'))
})
