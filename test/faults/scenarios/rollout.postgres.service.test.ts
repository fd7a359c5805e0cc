import { describe, it } from 'node:test'
import { scale } from '../run/scale.ts'
import { soundRollout } from './sound-rollout.ts'

const modes = scale({
  small: ['multiNode'] as const,
  full: ['multiNode', 'singleNode', 'partitioned'] as const,
})

describe('on PostgreSQL, with processes of the first release beside new ones', () => {
  for (const mode of modes) {
    it(`every promise is kept while the schema grows, ${mode}`, (test) =>
      soundRollout(test, 'postgres', mode))
  }
})
