import { deepEqual, equal, rejects } from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type FaultProxy, faultProxy } from './fault-proxy.ts'

describe('the fault proxy', () => {
  let server: Server
  let proxy: FaultProxy
  let clients: Peer[]
  /** The server's ends of the connections, in the order of the clients. */
  let served: Peer[]
  let answer: (request: Buffer, peer: Peer) => void

  beforeEach(async () => {
    clients = []
    served = []
    answer = (request, peer) => void peer.socket.write(request)
    server = createServer({ allowHalfOpen: true }, (socket) => {
      const peer = new Peer(socket)
      served.push(peer)
      socket.on('data', (request) => answer(request, peer))
      socket.on('end', () => socket.end())
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    proxy = await faultProxy(`tcp://127.0.0.1:${(server.address() as AddressInfo).port}/path`)
  })

  afterEach(async () => {
    for (const client of clients) client.socket.destroy()
    await proxy.close()
    server.close()
  })

  it('forwards everything by default', async () => {
    const client = await connectClient()
    const sent = Buffer.alloc(20_000_000, 'the quick brown fox ')
    client.socket.end(sent)

    equal(await client.ended, 'ended')
    equal(client.received, sent.toString())
    equal(new URL(proxy.url).pathname, '/path')
  })

  it('resets a client whose server is not there', async () => {
    server.close()
    const client = await connectClient()
    equal(await client.ended, 'ECONNRESET')
  })

  it('needs a port', async () => {
    await rejects(faultProxy('postgres://127.0.0.1/postgres'), /names no port/)
  })

  it('cuts connections on both sides, and takes new ones', async () => {
    const client = await connectClient()
    await client.ask('one')
    proxy.cut()

    equal(await client.ended, 'ECONNRESET')
    equal(await served[0]!.ended, 'ECONNRESET')
    await (await connectClient()).ask('two')
  })

  it('passes on that one side has cut the connection', async () => {
    const client = await connectClient()
    await client.ask('one')
    served[0]!.socket.resetAndDestroy()

    equal(await client.ended, 'ECONNRESET')
  })

  it('loses all data while half-open, without an error on either side', async () => {
    const [asking, ending, resetting, told] = await connectClients(4)
    proxy.halfOpen()

    asking!.socket.write('lost request')
    ending!.socket.end()
    resetting!.socket.resetAndDestroy()
    served[3]!.socket.write('lost answer')
    const late = await connectClient()
    late.socket.write('lost too')
    await turnsOfTheLoop()

    deepEqual(
      served.map(({ received, isOver }) => ({ received, isOver })),
      Array(4).fill({ received: 'hello', isOver: false }),
    )
    deepEqual(
      [asking!, ending!, told!, late].map(({ received, isOver }) => ({ received, isOver })),
      ['hello', 'hello', 'hello', ''].map((received) => ({ received, isOver: false })),
    )
  })

  it('forwards again after that, except on connections that lost data', async () => {
    const [unharmed, asking] = await connectClients(2)
    proxy.halfOpen()
    asking!.socket.write('lost')
    const late = await connectClient()
    await turnsOfTheLoop()
    proxy.resume()

    asking!.socket.write('never heard')
    late.socket.write('never heard')
    await unharmed!.ask('heard')
    await (await connectClient()).ask('heard')
    deepEqual(
      served.map(({ received }) => received),
      ['helloheard', 'hello', 'heard'],
    )

    proxy.cut()
    equal(await served[1]!.ended, 'ECONNRESET')
    equal(await late.ended, 'ECONNRESET')
  })

  it('loses the reply to a request that the server has handled', async () => {
    const [bystander, victim] = await connectClients(2)
    const lost = proxy.loseNextAnswerTo('commit')
    await victim!.ask(' BEGIN; COM')
    victim!.socket.write('MIT')

    equal(await victim!.ended, 'ECONNRESET')
    await lost
    equal(served[1]!.received, 'hello BEGIN; COMMIT')
    equal(victim!.received, 'hello BEGIN; COM')
    await bystander!.ask(' COMMIT')
  })

  it('waits for the reply that it has to lose', async () => {
    const victim = await connectClient()
    let answered = false
    answer = (_request, { socket }) => {
      socket.write('an earlier answer')
      void turnsOfTheLoop().then(() => {
        answered = true
        socket.write('the answer')
      })
    }
    const lost = proxy.loseNextAnswerTo('COMMIT', 'the answer')
    victim.socket.write('commit')

    equal(await victim.ended, 'ECONNRESET')
    await lost
    equal(victim.received, '')
    equal(answered, true)
  })

  it('holds back the reply to one request, and forwards it later', async () => {
    const [bystander, victim] = await connectClients(2)
    const held = proxy.holdNextAnswerTo('commit', 200)
    victim!.socket.write(' COMMIT')
    await bystander!.ask(' BEGIN')
    await turnsOfTheLoop()
    equal(served[1]!.received, 'hello COMMIT')
    equal(victim!.received, 'hello')

    await held
    while (!victim!.received.endsWith('COMMIT')) await once(victim!.socket, 'data')
    await victim!.ask(' BEGIN')
    equal(victim!.received, 'hello COMMIT BEGIN')
  })

  it('resets open connections and stops listening when it is closed', async () => {
    const client = await connectClient()
    await client.ask('one')
    await proxy.close()

    equal(await client.ended, 'ECONNRESET')
    await rejects(connectClient(), { code: 'ECONNREFUSED' })
  })

  /** Connects clients. Each has said hello to the server and got a reply. */
  async function connectClients(count: number): Promise<readonly Peer[]> {
    const connected: Peer[] = []
    while (connected.length < count) {
      const client = await connectClient()
      await client.ask('hello')
      connected.push(client)
    }
    return connected
  }

  async function connectClient(): Promise<Peer> {
    const { hostname, port } = new URL(proxy.url)
    const socket = connect({ host: hostname, port: Number(port), noDelay: true })
    await once(socket, 'connect')
    const client = new Peer(socket)
    clients.push(client)
    return client
  }
})

/** One side of a connection, and all that it receives. */
class Peer {
  readonly socket: Socket
  /** Resolves to `ended`, or to the code of the error. */
  readonly ended: Promise<string>
  received = ''
  isOver = false

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk) => (this.received += chunk.toString()))
    this.ended = new Promise<string>((resolve) => {
      socket.once('end', () => resolve('ended'))
      socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? 'no code'))
    }).finally(() => (this.isOver = true))
  }

  /** Sends a request, and waits until all of it has come back. */
  async ask(request: string): Promise<void> {
    const length = this.received.length + request.length
    this.socket.write(request)
    while (this.received.length < length) {
      const end = await Promise.race([once(this.socket, 'data'), this.ended])
      if (typeof end === 'string') throw new Error(`The connection is over: ${end}`)
    }
    equal(this.received.slice(-request.length), request)
  }
}

// All sockets belong to this process, so that sent data is read after a few turns.
async function turnsOfTheLoop(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await setImmediate()
}
