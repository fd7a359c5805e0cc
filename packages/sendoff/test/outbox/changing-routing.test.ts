import { storeKinds } from '../fixtures/stores.ts'
import { testChangingRouting } from './changing-routing-suite.ts'

for (const kind of storeKinds) {
  testChangingRouting(kind, ['multiNode', 'partitioned', 'singleNode', 'singleWriter'], 500)
}
