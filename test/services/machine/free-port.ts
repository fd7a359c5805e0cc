import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

// The system may hand out a port again as soon as it is free, before its new user listens.
const handedOut = new Set<number>()

/** Returns a TCP port on the loopback address that is free, and that is handed out only once. */
export async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')

    if (handedOut.has(port)) continue
    handedOut.add(port)
    return port
  }
}
