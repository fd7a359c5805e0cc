import { describe, it } from 'node:test'
import { soundDestinations } from './sound-destinations.ts'

describe('on PostgreSQL, with two destinations, one of which cannot be reached for a third of the run', () => {
  for (const mode of ['multiNode', 'partitioned'] as const) {
    it(`none is lost, and each destination keeps the order of its keys, ${mode}`, (test) =>
      soundDestinations(test, 'postgres', mode))
  }
})
