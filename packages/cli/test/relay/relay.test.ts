import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { defineEvent, Outbox } from 'sendoff'
import { MailOutbox } from 'sendoff/mail'
import { projectRoot } from '../../../../test/workspace.ts'
import { TestSmtpServer } from '../../../sendoff/test/mail/smtp-server.ts'
import { relayModes } from '../../src/relay/relay-config.ts'
import { RunningCall, sendoff, sendoffJson } from '../run-sendoff.ts'
import { newFolder, newSqliteOutbox, type TestedOutbox, writePending } from '../tested-outbox.ts'
import { Webhook } from './webhook.ts'

const events = 600
const isFull = process.env['SENDOFF_TEST_SCALE'] === 'full'

describe('the relay', { concurrency: 3 }, () => {
  it('that is killed under load loses nothing: the next one delivers the rest', async (test) => {
    const outbox = await newSqliteOutbox(test)
    const webhook = await Webhook.listen(test)
    const ids = await writePending(outbox, 'OrderPlaced', events)
    // A short lease, so that the next relay need not wait for that of the killed one.
    const cwd = configured(test, `outbox: { leaseMs: 1_000, poller: { intervalMs: 200 } }`)
    const args = ['relay', '--to', webhook.url, '--port', '0', ...outbox.args]

    const killed = new RunningCall(args, { cwd })
    await webhook.until(50)
    killed.kill('SIGKILL')
    await killed.ended
    ok(webhook.arrivals.size < events, 'the relay was done before it was killed')

    const next = new RunningCall(args, { cwd })
    await next.until(/The relay delivers/)
    await webhook.until(events)
    next.kill('SIGTERM')
    const { code, stderr } = await next.ended
    equal(code, 0, stderr)
    deepEqual([...webhook.arrivals.keys()].sort(), [...ids].sort())
    deepEqual(await counts(outbox), { PENDING: 0, DONE: events, DEAD: 0 })
  })

  it('that is terminated under load drains: nothing is lost, and nothing comes twice', async (test) => {
    const outbox = await newSqliteOutbox(test)
    const webhook = await Webhook.listen(test)
    const ids = await writePending(outbox, 'OrderPlaced', events)
    const args = ['relay', '--to', webhook.url, '--port', '0', ...outbox.args]

    const first = new RunningCall(args)
    await webhook.until(50)
    first.kill('SIGTERM')
    const ended = await first.ended
    equal(ended.code, 0, ended.stderr)
    match(ended.stderr, /it delivers what it holds, and takes nothing more[^]*The relay has stopped/)
    const { DONE } = await counts(outbox)
    equal(DONE, webhook.arrivals.size)

    const next = new RunningCall(args)
    await next.until(/The relay delivers/)
    await webhook.until(events)
    next.kill('SIGINT')
    equal((await next.ended).code, 0)
    deepEqual([...webhook.arrivals.keys()].sort(), [...ids].sort())
    deepEqual(
      [...webhook.arrivals.values()].filter((times) => times > 1),
      [],
    )
    deepEqual(await counts(outbox), { PENDING: 0, DONE: events, DEAD: 0 })
  })

  for (const mode of isFull ? relayModes : (['singleNode', 'partitioned', 'ordered'] as const)) {
    it(`in mode ${mode} delivers all, also after it was terminated, in the order that the mode promises`, async (test) => {
      const outbox = await newSqliteOutbox(test)
      const webhook = await Webhook.listen(test)
      const keys = new Map<string, string>()
      const writer = await Outbox.writerOnly<unknown>({ store: await outbox.open(), logger: false }).start()
      await writer.transaction(async () => {
        for (let index = 0; index < 120; index++) {
          const orderingKey = `customer-${index % 4}`
          keys.set(await writer.write('OrderPlaced', { index }, { orderingKey }), orderingKey)
        }
      })
      await writer.close()
      const args = ['relay', '--to', webhook.url, '--port', '0', '--mode', mode, ...outbox.args]

      const first = new RunningCall(args)
      await webhook.until(10)
      first.kill('SIGTERM')
      equal((await first.ended).code, 0)
      const next = new RunningCall(args)
      await next.until(/The relay delivers/)
      await webhook.until(keys.size)
      const [node] = await sendoffJson<{ nodes: { mode: string }[] }>(['nodes', ...outbox.args]).then(
        ({ nodes }) => nodes,
      )
      equal(node?.mode, mode)
      next.kill('SIGTERM')
      equal((await next.ended).code, 0)

      deepEqual(await counts(outbox), { PENDING: 0, DONE: keys.size, DEAD: 0 })
      const [written, arrived] = [[...keys.keys()], [...webhook.arrivals.keys()]]
      deepEqual(arrived.toSorted(), written.toSorted())
      if (mode === 'ordered') deepEqual(arrived, written)
      if (mode !== 'partitioned') return
      for (const key of new Set(keys.values())) {
        const ofKey = (ids: readonly string[]) => ids.filter((id) => keys.get(id) === key)
        deepEqual(ofKey(arrived), ofKey(written), key)
      }
    })
  }

  it('refuses a mode that another process of the table does not have', async (test) => {
    const outbox = await newSqliteOutbox(test)
    const webhook = await Webhook.listen(test)
    const args = ['relay', '--to', webhook.url, '--port', '0', ...outbox.args]
    const first = new RunningCall([...args, '--mode', 'partitioned'])
    await first.until(/The relay delivers/)
    const other = await sendoff([...args, '--mode', 'singleNode'])
    equal(other.code, 1)
    match(other.stderr, /partitioned/)
    first.kill('SIGTERM')
    equal((await first.ended).code, 0)
  })

  it('serves its health and its metrics', async (test) => {
    const outbox = await newSqliteOutbox(test)
    const webhook = await Webhook.listen(test)
    await writePending(outbox, 'OrderPlaced', 3)
    const call = new RunningCall(['relay', '--to', webhook.url, '--port', '0', '--json', ...outbox.args])
    const [, address] = await call.until(/Health and metrics: (http:\/\/127\.0\.0\.1:\d+)/)
    await webhook.until(3)
    for (const path of ['/healthz', '/readyz']) {
      const response = await fetch(`${address}${path}`)
      const { isLive, problems } = (await response.json()) as { isLive: boolean; problems: string[] }
      deepEqual([response.status, isLive, problems], [200, true, []])
    }
    const { DONE } = await counts(outbox)
    ok(DONE <= 3)
    const metrics = await fetch(`${address}/metrics`)
    match(metrics.headers.get('content-type')!, /^text\/plain; version=0\.0\.4/)
    const text = await metrics.text()
    match(text, /^# TYPE outbox_dispatch_success_total counter$/m)
    match(text, /^outbox_dispatch_success_total\{outbox="default"\} \d+$/m)
    match(text, /^outbox_\w+_bucket\{.*le="\+Inf"\} \d+$/m)
    equal((await fetch(`${address}/other`)).status, 404)

    const second = await sendoff([
      'relay',
      '--to',
      webhook.url,
      '--port',
      new URL(address!).port,
      ...outbox.args,
    ])
    equal(second.code, 1)
    match(
      second.stderr,
      /Cannot serve health and metrics on 127\.0\.0\.1:\d+ \(EADDRINUSE\)\. Choose another --port/,
    )
    call.kill('SIGTERM')
    const { code, stderr } = await call.ended
    equal(code, 0)
    for (const line of stderr.trim().split('\n')) JSON.parse(line)
  })

  it('takes only the types that it is told', async (test) => {
    const outbox = await newSqliteOutbox(test)
    const webhook = await Webhook.listen(test)
    const other = await writePending(outbox, 'Other', 1)
    await writePending(outbox, 'Mine', 2)
    const ofAggregate = defineEvent('OrderPlaced', { aggregateType: 'Order' })
    await writePending(outbox, ofAggregate, 1)
    const types = ['--type', 'Mine', '--type', 'Order/OrderPlaced']
    const call = new RunningCall(['relay', '--to', webhook.url, '--port', '0', ...types, ...outbox.args])
    await webhook.until(3)
    call.kill('SIGTERM')
    equal((await call.ended).code, 0)
    deepEqual([webhook.arrivals.has(other[0]!), (await counts(outbox)).PENDING], [false, 1])
  })

  it('is told by the environment alone, as in a container', async (test) => {
    const outbox = await newSqliteOutbox(test)
    const webhook = await Webhook.listen(test)
    await writePending(outbox, 'OrderPlaced', 1)
    const file = readFileSync(join(projectRoot, 'docs/relay/relay.Dockerfile'), 'utf8')
    const command = JSON.parse(/^CMD (\[.*\])$/m.exec(file)![1]!) as string[]
    match(file, /^ENTRYPOINT \["node", "node_modules\/@sendoff\/cli\/dist\/bin\.cjs"\]$/m)
    const call = new RunningCall([...command, '--port', '0'], {
      env: { SENDOFF_URL: outbox.url, SENDOFF_TO: webhook.url },
    })
    await call.until(/The relay delivers\. Health and metrics: http:\/\/0\.0\.0\.0:/)
    await webhook.until(1)
    call.kill('SIGTERM')
    equal((await call.ended).code, 0)
  })

  it('sends the mails of a mail outbox', async (test) => {
    const outbox = await newSqliteOutbox(test)
    const server = await TestSmtpServer.start(test)
    const mails = new MailOutbox({ store: await outbox.open() })
    await mails.transaction(() =>
      mails.enqueue({
        from: 'shop@example.com',
        to: ['ann@example.com'],
        subject: 'Your order',
        text: 'It is on its way.',
      }),
    )
    await mails.store.close()
    const address = `smtp://127.0.0.1:${server.port}`
    const call = new RunningCall(['relay', '--to', address, '--port', '0', ...outbox.args])
    const [, health] = await call.until(/Health and metrics: (\S+)/)
    await server.accepted(1)
    equal((await fetch(`${health}/readyz`)).status, 200)
    call.kill('SIGTERM')
    equal((await call.ended).code, 0)
    deepEqual(
      server.received.map(({ to, parsed }) => [to, parsed.subject]),
      [[['ann@example.com'], 'Your order']],
    )
  })
})

/** A folder whose configuration has this relay. */
function configured(test: TestContext, relay: string): string {
  const folder = newFolder(test)
  writeFileSync(join(folder, 'sendoff.config.mjs'), `export default { relay: { ${relay} } }`)
  return folder
}

async function counts(outbox: TestedOutbox): Promise<{ PENDING: number; DONE: number; DEAD: number }> {
  const { counts: all } = await sendoffJson<{ counts: Record<string, { count: number }> }>([
    'status',
    ...outbox.args,
  ])
  return { PENDING: all['PENDING']!.count, DONE: all['DONE']!.count, DEAD: all['DEAD']!.count }
}
