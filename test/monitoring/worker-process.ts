import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { Registry } from 'prom-client'
import { DispatchResult, fixedDelay, Outbox } from 'sendoff'
import { postgresStore } from 'sendoff/postgres'
import { prometheusMetrics } from 'sendoff/prometheus'

/** A plain worker shares a table without order. One with keys blocks them, and has a circuit breaker. */
export type WorkerKind = 'plain' | 'keys'

/** What a worker is told to do. It answers each order with a word. */
export type WorkerOrder =
  | { readonly write: number; readonly type: string }
  | { readonly report: true }
  /** Whether listeners of `Flaky`, `Keyed` and `Sent` fail. */
  | { readonly failing: boolean }
  | { readonly paused: boolean }
  | { readonly unblock: true }
  /** Waits until this number of listeners of `Slow` run. */
  | { readonly untilSlow: number }

/** What a worker says. */
export type WorkerWord =
  | { readonly port: number }
  | { readonly calls: number; readonly failures: number }
  | { readonly isDone: true }

/** A word of a worker, and the number of the order that it answers; 0 when the worker has started. */
export interface WorkerMessage {
  readonly order: number
  readonly word: WorkerWord
}

// A worker under load: it writes when it is told, delivers, and counts by itself what its metrics should say.
const [url, schema, kind] = process.argv.slice(2) as [string, string, WorkerKind]
const register = new Registry()
const pool = new pg.Pool({ connectionString: url, max: 5 })
pool.on('error', () => {})
const options = {
  store: postgresStore({ client: pool, schema }),
  logger: false,
  leaseMs: 2_000,
  retryPolicy: fixedDelay(5),
  poller: { intervalMs: 500 },
} as const
const outbox = await (
  kind === 'keys'
    ? Outbox.partitioned({
        ...options,
        metrics: prometheusMetrics({ register, name: 'keys' }),
        onKeyFailure: 'block',
        routing: {
          version: 1,
          rules: [
            { events: 'Keyed', to: 'keyed' },
            { events: 'Sent', to: 'broker' },
          ],
          destinations: {
            keyed: { maxAttempts: 1 },
            broker: { maxAttempts: 1_000, circuitBreaker: { minimumCalls: 2, coolDownMs: 500 } },
          },
        },
      })
    : Outbox.multiNode({
        ...options,
        metrics: prometheusMetrics({ register }),
        workerCount: 32,
        maxAttempts: 100_000,
      })
).start()

let [calls, failures, slow, isFailing] = [0, 0, 0, false]
const failIfTold = (): void => {
  if (isFailing) throw new Error('away')
}
if (kind === 'keys') {
  outbox.on('Keyed', failIfTold, { destination: 'keyed' })
  outbox.on('Sent', failIfTold, { destination: 'broker' })
} else {
  outbox.on('Flaky', failIfTold)
  outbox.on('Doomed', () => DispatchResult.dead('no such order'))
  outbox.on('Slow', async () => {
    slow++
    await pause(1_000)
  })
  outbox.on('Ordered', async (event, { attempt }) => {
    await Promise.resolve()
    calls++
    if (Number(event.payload) % 10 === 0 && attempt === 1) {
      failures++
      throw new Error('not yet')
    }
  })
}

const server = createServer((_request, response) => {
  response.setHeader('content-type', register.contentType)
  void register.metrics().then((text) => response.end(text))
}).listen(0, '127.0.0.1', () => say(0, { port: (server.address() as AddressInfo).port }))

process.on(
  'message',
  ({ number, order }: { number: number; order: WorkerOrder }) =>
    void follow(order).then((word) => say(number, word)),
)

async function follow(order: WorkerOrder): Promise<WorkerWord> {
  if ('report' in order) return { calls, failures }
  if ('write' in order) await write(order.write, order.type)
  else if ('failing' in order) isFailing = order.failing
  else if ('untilSlow' in order) while (slow < order.untilSlow) await pause(1)
  else if ('unblock' in order) await outbox.blockedKeys.retry('key', 'keyed')
  else if (order.paused) await outbox.pause({ eventType: 'Flaky' })
  else await outbox.resume({ eventType: 'Flaky' })
  return { isDone: true }
}

async function write(count: number, type: string): Promise<void> {
  const fields = type === 'Keyed' ? { orderingKey: 'key' } : {}
  for (let written = 0; written < count; written += 50) {
    const events = Array.from({ length: Math.min(50, count - written) }, (_, index) => ({
      type: { name: type },
      payload: written + index,
      fields,
    }))
    await outbox.transaction(() => outbox.writeAll(events))
  }
}

function say(order: number, word: WorkerWord): void {
  process.send!({ order, word } satisfies WorkerMessage)
}
