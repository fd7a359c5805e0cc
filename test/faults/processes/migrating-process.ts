// A process that only migrates, as a step of a deployment: `node migrating-process.ts STORE LOCATION COUNT`. It
// kills itself before its statement number COUNT.
import { DatabaseSync } from 'node:sqlite'
import { faultStore } from '../stores/fault-stores.ts'

const [name, location, count] = process.argv.slice(2) as [string, string, string]

const opened = (await faultStore(name)).open(location)
const { store } = opened
await store.checkSchema()
await countStatements()
await store.migrate()
process.stdout.write('migrated\n')
await store.close()
await opened.end()

async function countStatements(): Promise<void> {
  if (name === 'sqlite') return killBefore(DatabaseSync.prototype, 'exec')
  if (name === 'postgres') return killBefore((await import('pg')).default.Client.prototype, 'query')
  const { Connection } = (await import('mysql2')).default as unknown as { Connection: { prototype: object } }
  // Connections of pools have the same base.
  killBefore(Object.getPrototypeOf(Connection.prototype) as object, 'query')
}

function killBefore(prototype: object, method: string): void {
  const target = prototype as Record<string, (...args: unknown[]) => unknown>
  const call = target[method]!
  let left = Number(count)
  target[method] = function (...args) {
    if (left === 0) process.kill(process.pid, 'SIGKILL')
    left -= 1
    return call.apply(this, args)
  }
}
