import { serverStoreKinds } from '../fixtures/server-stores.ts'
import { testSharingWork } from './sharing-work-suite.ts'

serverStoreKinds.forEach(testSharingWork)
