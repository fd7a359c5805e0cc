import { Mutex } from '../mutex.ts'

const ofClients = new WeakMap<object, Mutex>()

/** Returns the mutex of a client with a single connection. All stores that use the client share it. */
export function onlyConnectionOf(client: object): Mutex {
  const known = ofClients.get(client)
  if (known !== undefined) return known

  const connection = new Mutex()
  ofClients.set(client, connection)
  return connection
}
