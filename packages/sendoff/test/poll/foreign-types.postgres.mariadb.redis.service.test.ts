import { serverStoreKinds } from '../fixtures/server-stores.ts'
import { testForeignTypes } from './foreign-types-suite.ts'

serverStoreKinds.forEach(testForeignTypes)
