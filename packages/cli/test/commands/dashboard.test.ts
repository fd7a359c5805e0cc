import { deepEqual, equal, match } from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { describe, it, type TestContext } from 'node:test'
import { RunningCall, sendoff, sendoffJson } from '../run-sendoff.ts'
import { fill, newSqliteOutbox, type TestedOutbox } from '../tested-outbox.ts'

const token = 'a-secret-of-the-operators'

/** A dashboard under way, and its address. */
async function served(
  test: TestContext,
  outbox: TestedOutbox,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly call: RunningCall; readonly url: string }> {
  const call = new RunningCall(['dashboard', '--port', '0', ...args, ...outbox.args], { env })
  test.after(async () => {
    call.kill('SIGKILL')
    await call.ended
  })
  const [, url] = await call.until(/The dashboard is at (http:\S+\/) until Ctrl-C/)
  return { call, url: url! }
}

/** Returns the status of a request with any `Host`, which `fetch` does not let its caller choose. */
async function statusFor(url: string, host: string): Promise<number> {
  const asked = request(`${url}api/session`, { headers: { host } })
  const answered = once(asked.end(), 'response')
  const [response] = (await answered) as [{ statusCode: number; resume(): void }]
  response.resume()
  return response.statusCode
}

/** Acts as the page does. */
async function pause(url: string, eventType: string): Promise<Response> {
  const session = await fetch(`${url}api/session`)
  const { csrfToken, outboxes } = (await session.json()) as { csrfToken: string; outboxes: string[] }
  return fetch(`${url}api/outboxes/${outboxes[0]}/pause`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      origin: new URL(url).origin,
      cookie: session.headers.get('set-cookie')!.split(';')[0]!,
      'x-sendoff-csrf': csrfToken,
    },
    body: JSON.stringify({ eventType }),
  })
}

describe('sendoff dashboard', { concurrency: 3 }, () => {
  it('serves the page and its API on the loopback address, and acts under the name of the operator', async (test) => {
    const outbox = await newSqliteOutbox(test)
    await fill(outbox, { dead: 2, done: 1 })
    const { call, url } = await served(test, outbox, ['--as', 'ann'])
    equal(new URL(url).hostname, '127.0.0.1')

    match(await (await fetch(url)).text(), /<base href="\/" \/>/)
    const overview = await fetch(`${url}api/outboxes/outbox_event/state`)
    const { counts } = (
      (await overview.json()) as { overview: { counts: Record<string, { count: number }> } }
    ).overview
    deepEqual([counts['DEAD']!.count, counts['DONE']!.count], [2, 1])

    equal((await pause(url, 'OrderPaid')).status, 200)
    const { entries } = await sendoffJson<{ entries: { action: string; actor: string }[] }>([
      'audit',
      ...outbox.args,
    ])
    deepEqual(
      entries.map(({ action, actor }) => [action, actor]),
      [['pause', 'ann']],
    )
    call.kill('SIGTERM')
    const { code, stderr } = await call.ended
    deepEqual([code, stderr], [0, ''])
  })

  it('refuses other names in Host: no web site reaches it by a name that leads here', async (test) => {
    const { url } = await served(test, await newSqliteOutbox(test))
    const { port } = new URL(url)
    for (const host of [`evil.example:${port}`, '127.0.0.1', `localhost.evil.example:${port}`]) {
      equal(await statusFor(url, host), 421, host)
    }
    for (const host of [`localhost:${port}`, `127.0.0.1:${port}`])
      equal(await statusFor(url, host), 200, host)
  })

  it('ends at Ctrl-C, also while a page is open', async (test) => {
    const { call, url } = await served(test, await newSqliteOutbox(test))
    const stream = await fetch(`${url}api/outboxes/outbox_event/stream`)
    const reader = stream.body!.getReader()
    equal((await reader.read()).done, false)
    call.kill('SIGINT')
    equal((await call.ended).code, 0)
    await fetch(url).then(
      () => Promise.reject(new Error('it still listens')),
      () => {},
    )
    while (!(await reader.read().catch(() => ({ done: true }))).done);
  })

  it('refuses every action with --read-only, also on a table whose name is a path of the dashboard', async (test) => {
    const { url } = await served(test, await newSqliteOutbox(test, 'api'), ['--read-only'])
    match(await (await fetch(`${url}api/session`)).text(), /"outboxes":\["outbox-api"\]/)
    const response = await pause(url, 'OrderPaid')
    const { error } = (await response.json()) as { error: { code: string } }
    deepEqual([response.status, error.code], [403, 'READ_ONLY'])
  })

  it('asks visitors for the token, and shows it nowhere', async (test) => {
    const outbox = await newSqliteOutbox(test)
    const { call, url } = await served(test, outbox, ['--host', '0.0.0.0'], { SENDOFF_TOKEN: token })
    const { port } = new URL(url)
    for (const name of ['127.0.0.1', ownAddress()].filter((each) => each !== undefined)) {
      const session = `http://${name}:${port}/api/session`
      equal((await fetch(session)).status, 401, name)
      const wrong = { authorization: `Bearer ${token}x` }
      equal((await fetch(session, { headers: wrong })).status, 401)
      equal((await fetch(session, { headers: { authorization: `Bearer ${token}` } })).status, 200)
    }
    call.kill('SIGTERM')
    const { code, stdout, stderr } = await call.ended
    deepEqual([code, `${stdout}${stderr}`.includes(token)], [0, false])
  })

  it('listens on no address of other machines without a token, or with a short one', async (test) => {
    const { args } = await newSqliteOutbox(test)
    for (const [more, reason] of [
      [['--host', '0.0.0.0'], /needs a token on "0\.0\.0\.0", because other machines can reach this address/],
      [['--host', '::'], /needs a token on "::"/],
      [['--host', '0.0.0.0', '--token', 'short'], /at least 16 characters/],
      [['--port', '70000'], /--port "70000" is no whole number from 0 to 65535/],
    ] as const) {
      const { code, stderr } = await sendoff(['dashboard', '--port', '0', ...more, ...args])
      deepEqual([code, reason.test(stderr)], [2, true], stderr)
    }
  })

  it('says that its port is taken, and that there is no such file', async (test) => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    test.after(() => taken.close())
    const { port } = taken.address() as AddressInfo
    const { args } = await newSqliteOutbox(test)
    const busy = await sendoff(['dashboard', '--port', String(port), ...args])
    equal(busy.code, 1)
    match(
      busy.stderr,
      /Cannot serve the dashboard on 127\.0\.0\.1:\d+ \(EADDRINUSE\)\. Choose another --port/,
    )
    equal((await sendoff(['dashboard', '--url', 'sqlite:nowhere.db'])).code, 3)
  })
})

/** An address of this machine that others can reach; undefined if it has none. */
function ownAddress(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  return all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address
}
