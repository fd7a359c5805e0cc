import { deepEqual, equal, match } from 'node:assert/strict'
import { RetryAfterError, UnrecoverableError } from '../../src/errors.ts'
import { exponentialBackoff } from '../../src/retry/exponential-backoff.ts'
import { DispatchResult } from '../../src/route/dispatch-result.ts'
import { onEveryStore, rowOf, startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'

const retryPolicy = exponentialBackoff({ baseDelayMs: 1, maxDelayMs: 4 })

onEveryStore('a failing listener is tried again until it succeeds', async (test, open, mode) => {
  const attempts: number[] = []
  const listener = new RecordingListener((_, { attempt }) => {
    attempts.push(attempt)
    if (attempt < 4) throw new TypeError('not yet')
  })
  const { outbox, store, metrics } = await startOutbox(test, open(), { mode, listener, retryPolicy })
  const [id] = await writeTested(outbox, 1)

  await metrics.until((seen) => seen.dispatchSuccess === 1)
  deepEqual(attempts, [1, 2, 3, 4])
  equal((await rowOf(store, id!))!.attempts, 3)
  deepEqual(
    (await store.people.attempts({ eventId: id!, destination: '' })).map(({ attempts, error }) => [
      attempts,
      error,
    ]),
    [1, 2, 3].map((count) => [count, 'TypeError: not yet']),
  )
})

onEveryStore('an event is DEAD when its attempts are used up', async (test, open, mode) => {
  const listener = new RecordingListener(() => Promise.reject(new Error('never')))
  const { outbox, store, metrics, log } = await startOutbox(test, open(), {
    mode,
    listener,
    retryPolicy,
    maxAttempts: 3,
  })
  const [id] = await writeTested(outbox, 1)

  await metrics.until((seen) => seen.dispatchDead === 1)
  const row = (await rowOf(store, id!))!
  equal(row.status, 3)
  equal(row.attempts, 3)
  equal(row.lastError, 'Error: never')
  equal(listener.events.length, 3)
  match(log.join('\n'), new RegExp(`error: Event ${id} \\(Tested\\) is DEAD: Error: never`))
})

onEveryStore('what counts against the attempts and what does not', async (test, open, mode) => {
  const answers: Record<string, () => DispatchResult> = {
    deferred: () => DispatchResult.retryAfter(1),
    'retry after': () => {
      throw new RetryAfterError(1)
    },
    dead: () => DispatchResult.dead('cancelled'),
    unrecoverable: () => {
      throw new UnrecoverableError('bad payload')
    },
  }
  const first = new Set<string>()
  const listener = new RecordingListener((event) => {
    const name = event.payload as string
    if (first.has(name)) return DispatchResult.done()
    first.add(name)
    return answers[name]!()
  })
  const { outbox, store, metrics } = await startOutbox(test, open(), { mode, listener })
  const ids = await writeTested(outbox, ...Object.keys(answers))

  await metrics.until((seen) => seen.dispatchSuccess === 2 && seen.dispatchDead === 2)
  const rows = await Promise.all(ids.map((id) => rowOf(store, id)))
  deepEqual(
    rows.map((row) => [row!.status, row!.attempts, row!.lastError]),
    [
      [1, 0, null],
      [1, 1, null],
      [3, 0, 'cancelled'],
      [3, 0, 'UnrecoverableError: bad payload'],
    ],
  )
})

onEveryStore('a retry of one event does not hold up the others', async (test, open, mode) => {
  const listener = new RecordingListener((event, { attempt }) => {
    if (event.payload === 'bad' && attempt === 1) throw new Error('once')
  })
  const { outbox, metrics } = await startOutbox(test, open(), {
    mode,
    listener,
    workerCount: 1,
    retryPolicy: exponentialBackoff({ baseDelayMs: 100, random: () => 0.5 }),
  })
  await writeTested(outbox, 'bad', 'good', 'fine')
  await metrics.until((seen) => seen.dispatchSuccess === 3)
  deepEqual(listener.payloads, ['bad', 'good', 'fine', 'bad'])
})
