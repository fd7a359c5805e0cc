import { newSchema } from '../stores/postgres/test-store.ts'
import { describeRacing } from './racing-suite.ts'

describeRacing('postgres', async (test) => (await newSchema(test)).schema)
