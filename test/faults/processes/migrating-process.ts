// A process that only migrates, as a step of a deployment: `node migrating-process.ts STORE LOCATION`. It says
// when it begins, so that it can be killed in the middle.
import { faultStore } from '../stores/fault-stores.ts'

const [name, location] = process.argv.slice(2) as [string, string]

const opened = (await faultStore(name)).open(location)
const { store } = opened
await store.checkSchema()
process.stdout.write('migrating\n')
await store.migrate()
process.stdout.write('migrated\n')
await store.close()
await opened.end()
