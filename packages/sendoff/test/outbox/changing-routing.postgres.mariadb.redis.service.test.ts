import { describe } from 'node:test'
import { serverStoreKinds } from '../fixtures/server-stores.ts'
import { testChangingRouting } from './changing-routing-suite.ts'

describe('on servers', { concurrency: true }, () => {
  for (const kind of serverStoreKinds) {
    testChangingRouting(
      kind,
      kind.name === 'redis' ? ['multiNode', 'singleNode', 'singleWriter'] : ['multiNode', 'partitioned'],
      3_000,
    )
  }
})
