import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { it, type TestContext } from 'node:test'
import { ProxiedConnection } from './proxied-connection.ts'

it('a proxied connection can be cut at the moment in which it ends', async (t) => {
  const [client, toClient] = await connected(t)
  const [toServer, server] = await connected(t)
  const connection = new ProxiedConnection(toClient, toServer)
  toClient.on('end', () => connection.cut())
  for (const socket of [client, server]) socket.on('error', () => {}).resume()
  const closed = Promise.all([toClient, toServer].map((socket) => once(socket, 'close')))
  client.end()
  await closed
})

/** Returns the two ends of a connection. */
async function connected(t: TestContext): Promise<[Socket, Socket]> {
  const listener = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  t.after(() => listener.close())
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
  const [accepted] = (await once(listener, 'connection')) as [Socket]
  t.after(() => [socket, accepted].forEach((end) => end.destroy()))
  return [socket, accepted]
}
