import { Mutex } from '../mutex.ts'

const ofClients = new WeakMap<object, Mutex>()

/** What stands for the only connection of a client, the same for all stores that use it. */
export function onlyConnectionOf(client: object): Mutex {
  const known = ofClients.get(client)
  if (known !== undefined) return known

  const connection = new Mutex()
  ofClients.set(client, connection)
  return connection
}
