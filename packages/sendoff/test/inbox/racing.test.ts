import path from 'node:path'
import { temporaryFolder } from '../fixtures/stores.ts'
import { describeRacing } from './racing-suite.ts'

describeRacing('sqlite', async (test) => path.join(await temporaryFolder(test), 'app.db'))
