// A process that delivers: `node worker-process.ts SETTINGS`, settings being a `NodeSettings` in JSON. It
// ends when asked to.
import { startNode } from './node-setup.ts'

const node = await startNode('delivers')
process.once('SIGTERM', () => void node.close())
process.stdout.write('ready\n')
