import { describe, it } from 'node:test'
import { soundRollout } from './sound-rollout.ts'

describe('on SQLite, with processes of the first release beside new ones', () => {
  it('every promise is kept while the schema grows, multiNode', (test) =>
    soundRollout(test, 'sqlite', 'multiNode'))
})
