import { describe } from 'node:test'
import { serverStoreKinds } from '../fixtures/server-stores.ts'
import { testForeignTypes } from './foreign-types-suite.ts'

describe('on servers', { concurrency: true }, () => serverStoreKinds.forEach(testForeignTypes))
