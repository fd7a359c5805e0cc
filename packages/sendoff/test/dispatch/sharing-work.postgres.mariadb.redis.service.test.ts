import { describe } from 'node:test'
import { serverStoreKinds } from '../fixtures/server-stores.ts'
import { testSharingWork } from './sharing-work-suite.ts'

describe('on servers', { concurrency: true }, () => serverStoreKinds.forEach(testSharingWork))
