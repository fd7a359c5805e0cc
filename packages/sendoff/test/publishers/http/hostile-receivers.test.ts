import { deepEqual, equal } from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { misbehaviours, startHostileReceiver } from './hostile-receiver.ts'
import type { HostileRelayReport, HostileRelaySettings } from './hostile-relay-process.ts'
import type { ScriptedReceiver } from './scripted-receiver.ts'
import { WebhookReceiver } from './webhook-receiver.ts'

const maxAttempts = 2

it('a relay survives hostile receivers, and delivers the events for sound ones', async (test) => {
  const events = process.env['SENDOFF_TEST_SCALE'] === 'full' ? 2_000 : 200
  const sound = await WebhookReceiver.start()
  test.after(() => sound.kill())
  const hostile = new Map<string, ScriptedReceiver>()
  for (const misbehaviour of Object.values(misbehaviours).flat()) {
    const receiver = await startHostileReceiver(misbehaviour)
    test.after(() => receiver.close())
    hostile.set(misbehaviour, receiver)
  }
  const hostileUrls = [...hostile.values()].map(({ url }) => url)
  const urls = Array.from({ length: events }, (_, number) =>
    number % 2 === 0 ? sound.url : hostileUrls[((number - 1) / 2) % hostileUrls.length]!,
  )

  const settings: HostileRelaySettings = { urls, timeoutMs: 1_000, maxAttempts }
  const script = fileURLToPath(new URL('hostile-relay-process.ts', import.meta.url))
  const relay = spawn(process.execPath, ['--unhandled-rejections=strict', script, JSON.stringify(settings)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = Promise.all([text(relay.stdout), text(relay.stderr)])
  const [exitCode] = (await once(relay, 'exit')) as [number | null]
  const [report, complaints] = await output
  equal(complaints, '')
  equal(exitCode, 0)

  const ends = JSON.parse(report) as HostileRelayReport
  const nameOf = (url: string): string =>
    [...hostile].find(([, receiver]) => receiver.url === url)?.[0] ?? 'sound'
  const seen = Object.fromEntries(Object.entries(ends).map(([url, end]) => [nameOf(url), Object.keys(end)]))
  const expected = (names: readonly string[], end: string) => names.map((name) => [name, [end]])
  deepEqual(
    seen,
    Object.fromEntries([
      ...expected(['sound', ...misbehaviours.afterStatus], 'DONE'),
      ...expected(misbehaviours.withoutAnswer, `DEAD after ${maxAttempts} failures`),
      ...expected(misbehaviours.refusing, 'DEAD after 0 failures'),
    ]),
  )
  equal(new Set(sound.received.map(({ headers }) => headers['event-id'])).size, events / 2)
  for (const name of misbehaviours.withoutAnswer) {
    deepEqual(new Set(hostile.get(name)!.requestsById.values()), new Set([maxAttempts]), name)
  }
})
