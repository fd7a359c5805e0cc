import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { after, describe, it } from 'node:test'
import { dashboard, nodeListener, serveDashboard } from '../src/index.ts'
import { filledOutbox } from './filled-outbox.ts'

const servers: Server[] = []
after(() => servers.forEach((server) => server.close().closeAllConnections()))

async function listening(refreshMs = 2_000): Promise<number> {
  const { admin } = await filledOutbox({ dead: 1 })
  const handler = dashboard({
    admins: { orders: admin },
    authorize: () => ({ actor: 'ann', role: 'admin' }),
    refreshMs,
  })
  const server = createServer(nodeListener(handler)).listen(0, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** Sends bytes to a server, and returns everything that it answers. */
async function exchange(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8')
  let text = ''
  socket.on('data', (part: string) => (text += part))
  socket.on('error', () => {})
  socket.write(bytes)
  await once(socket, 'close')
  return text
}

describe('the listener of a Node server', () => {
  it('serves the page, its files compressed, and 304 for what the browser has', async () => {
    const port = await listening()
    const url = `http://127.0.0.1:${port}/`
    const html = await (await fetch(url)).text()
    const script = /src="(assets\/app-[^"]+\.js)"/.exec(html)![1]!
    const response = await fetch(url + script)
    equal(response.headers.get('content-encoding'), 'gzip')
    match(response.headers.get('content-type')!, /javascript/)
    ok((await response.text()).length > 10_000)
    const again = await fetch(url + script, { headers: { 'if-none-match': response.headers.get('etag')! } })
    equal(again.status, 304)
  })

  it('survives clients that send nonsense, or leave in the middle', async () => {
    const port = await listening(1)
    const stream = 'GET /api/outboxes/orders/stream HTTP/1.1\r\nHost: x\r\n\r\n'
    for (const bytes of [
      'GET http://[::bad/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      'GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      'GET // HTTP/1.1\r\nHost: \r\nConnection: close\r\n\r\n',
      'TRACE / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      'GET / HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n',
    ]) {
      match(await exchange(port, bytes), /^HTTP\/1\.1 [2-5]\d\d/, bytes)
    }
    // More of them than may have a stream at a time.
    for (let count = 0; count < 120; count++) {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      socket.write(stream)
      await once(socket, 'data')
      socket.resetAndDestroy()
    }
    const response = await fetch(`http://127.0.0.1:${port}/api/outboxes/orders/stream`)
    equal(response.status, 200)
    await response.body!.cancel()
  })

  it('survives clients that leave in the middle of a body, whoever refuses it', async () => {
    const port = await listening()
    for (const path of ['/api/outboxes/orders/pause', '/nothing/api', '/']) {
      for (const method of ['POST', 'PUT', 'DELETE']) {
        const socket = connect(port, '127.0.0.1')
        socket.on('error', () => {})
        socket.write(`${method} ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n{`)
        await once(socket, 'data')
        socket.resetAndDestroy()
      }
    }
    equal((await fetch(`http://127.0.0.1:${port}/api/session`)).status, 200)
  })

  it('cuts off a client that leaves its stream unread, and makes room for others', async () => {
    const { admin } = await filledOutbox({ dead: 1 })
    const overview = await admin.overview()
    const group = { status: 'DEAD', eventType: 'x'.repeat(500), destination: '', count: 1, isExact: true }
    const large = { ...overview, groups: Array.from({ length: 300 }, () => group) }
    const handler = dashboard({
      admins: { orders: { as: () => admin, overview: () => Promise.resolve(large) } as never },
      authorize: () => ({ actor: 'ann', role: 'viewer' }),
      refreshMs: 1,
      maxStreams: 1,
    })
    const server = createServer(nodeListener(handler)).listen(0, '127.0.0.1')
    servers.push(server)
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const url = `http://127.0.0.1:${port}/api/outboxes/orders/stream`
    const hanging = connect(port, '127.0.0.1')
    hanging.on('error', () => {})
    hanging.write('GET /api/outboxes/orders/stream HTTP/1.1\r\nHost: x\r\n\r\n')
    // Something has come. It is not read.
    await once(hanging, 'readable')
    const opened = async (): Promise<number> => {
      const response = await fetch(url)
      await response.body!.cancel()
      return response.status
    }
    equal(await opened(), 503)
    // What the machine holds for the connection has to be full before the server can notice.
    while ((await opened()) !== 200);
    hanging.destroy()
  })

  it('does not read on when it has refused a body, whatever the method', async () => {
    const port = await listening()
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'GET']) {
      const head = `${method} /api/outboxes/orders/pause HTTP/1.1\r\nHost: x\r\n`
      match(
        await exchange(port, `${head}Content-Length: 999999999\r\n\r\n{`),
        /^HTTP\/1\.1 4\d\d[\s\S]*connection: close/i,
        method,
      )
    }
  })

  it('answers a body that is too large before it has come, and reads no more of it', async () => {
    const port = await listening()
    const session = await fetch(`http://127.0.0.1:${port}/api/session`)
    const { csrfToken } = (await session.json()) as { csrfToken: string }
    const head = [
      'POST /api/outboxes/orders/pause HTTP/1.1',
      `Host: 127.0.0.1:${port}`,
      `Origin: http://127.0.0.1:${port}`,
      'Content-Type: application/json',
      `Cookie: ${session.headers.get('set-cookie')!.split(';')[0]}`,
      `X-Sendoff-Csrf: ${csrfToken}`,
    ]
    const announced = [...head, 'Content-Length: 999999999', '', '{"eventType":"'].join('\r\n')
    match(await exchange(port, announced), /^HTTP\/1\.1 413[\s\S]*connection: close/i)
    // Without an announcement: chunks of 1 MiB, without an end.
    const chunk = `100000\r\n${'x'.repeat(0x100000)}\r\n`
    const chunked = [...head, 'Transfer-Encoding: chunked', '', chunk.repeat(5)].join('\r\n')
    match(await exchange(port, chunked), /^HTTP\/1\.1 413/)
  })
})

describe('a dashboard of one machine', () => {
  it('listens on the loopback address, and asks the person who started it for no login', async () => {
    const { admin } = await filledOutbox({ waiting: 1 })
    const served = await serveDashboard({ admins: { orders: admin }, actor: 'root' })
    const { port, hostname } = new URL(served.url)
    equal(hostname, '127.0.0.1')
    const session = await fetch(`${served.url}api/session`)
    const { actor, role } = (await session.json()) as { actor: string; role: string }
    deepEqual([actor, role], ['root', 'admin'])
    equal((await fetch(`http://localhost:${port}/api/session`)).status, 200)
    await served.close()
  })

  it('refuses names that lead here: no web site reaches it by its own name', async () => {
    const { admin } = await filledOutbox()
    const served = await serveDashboard({ admins: { orders: admin } })
    const port = Number(new URL(served.url).port)
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1',
      `127.0.0.1.nip.io:${port}`,
      `127.0.0.1:${port + 1}`,
    ]) {
      const request = `GET /api/session HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`
      match(await exchange(port, request), /^HTTP\/1\.1 421/, host)
    }
    await served.close()
  })

  it('with a token asks for it, there too', async () => {
    const { admin } = await filledOutbox()
    const token = 'a-secret-of-the-operators'
    const served = await serveDashboard({
      admins: { orders: admin },
      host: 'localhost',
      token,
      role: 'viewer',
    })
    const status = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(`${served.url}api/session`, { headers })).status
    const basic = Buffer.from(`ann:${token}`).toString('base64')
    deepEqual([await status({}), await status({ authorization: `Basic ${basic}` })], [401, 200])
    await served.close()
  })

  it('listens on no address that other machines reach without a token', async () => {
    const { admin } = await filledOutbox()
    for (const host of [
      '0.0.0.0',
      '::',
      '',
      '127.0.0.1.nip.io',
      '127.0.0.999',
      '10.0.0.1',
      undefined as never,
    ]) {
      await rejects(serveDashboard({ admins: { orders: admin }, host }), {
        code: 'OUTBOX_INVALID_OPTION',
        message: /needs a token/,
      })
    }
    await rejects(serveDashboard({ admins: { orders: admin }, host: '0.0.0.0', token: 'short' }), {
      code: 'OUTBOX_INVALID_OPTION',
    })
  })
})
