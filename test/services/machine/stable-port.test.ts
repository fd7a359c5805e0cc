import { equal, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { describe, it } from 'node:test'
import { stablePort } from './stable-port.ts'

describe('a stable port', () => {
  it('can be listened on, and is handed out once', async () => {
    const ports = await Promise.all(Array.from({ length: 100 }, stablePort))
    equal(new Set(ports).size, ports.length)

    const server = createServer().listen(ports[0], '127.0.0.1')
    await once(server, 'listening')
    server.close()
  })

  it('is lower than the ports of outgoing connections', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = connect((server.address() as { port: number }).port, '127.0.0.1')
    await once(client, 'connect')
    const ports = await Promise.all(Array.from({ length: 100 }, stablePort))

    ok(Math.max(...ports) < client.localPort!)
    client.destroy()
    server.close()
  })
})
