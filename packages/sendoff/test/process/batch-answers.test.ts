import { deepEqual, equal, match, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { OutboxError } from '../../src/errors.ts'
import { batchAnswers } from '../../src/process/batch-answers.ts'
import { DispatchResult } from '../../src/route/dispatch-result.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { fixedDelay } from '../../src/retry/fixed-delay.ts'
import { onEveryStore, rowOf, startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'

describe('batchAnswers', () => {
  const invalid = { code: 'OUTBOX_INVALID_ANSWER' }

  it('takes nothing for success of all', () => {
    deepEqual(batchAnswers(undefined, 2), [undefined, undefined])
    deepEqual(batchAnswers(null, 1), [undefined])
  })

  it('understands answers, errors, and settled promises', async () => {
    const error = new Error('no')
    const answers = [undefined, null, DispatchResult.done(), DispatchResult.retryAfter(5), error]
    deepEqual(batchAnswers(answers, 5), [undefined, undefined, ...answers.slice(2)])

    const settled = await Promise.allSettled([
      Promise.resolve(7),
      Promise.resolve({ ok: true }),
      Promise.resolve(DispatchResult.dead('no')),
      Promise.reject(error),
    ])
    deepEqual(batchAnswers(settled, 4), [undefined, undefined, DispatchResult.dead('no'), error])
    match((batchAnswers([{ status: 'rejected', reason: 'text' }], 1)[0] as Error).message, /text/)
  })

  it('refuses what is no list of as many answers as there are events', () => {
    throws(() => batchAnswers(true, 1), invalid)
    throws(() => batchAnswers({ length: 1, 0: undefined }, 1), invalid)
    throws(() => batchAnswers([undefined], 2), RangeError)
  })

  it('takes an answer that it does not know for a failure, and says what it has to be', () => {
    for (const answer of [true, 1, 'done', { kind: 'retry' }, {}, [], { status: 200 }, () => {}]) {
      const [error] = batchAnswers([answer], 1)
      equal((error as OutboxError).code, 'OUTBOX_INVALID_ANSWER')
      match((error as OutboxError).message, /a DispatchResult, an Error, or a result of Promise\.allSettled/)
    }
  })

  it('takes an answer that cannot be read for a failure', () => {
    const unreadable = {
      get kind(): string {
        throw new Error('unreadable')
      },
    }
    equal((batchAnswers([unreadable], 1)[0] as Error).message, 'unreadable')
  })
})

onEveryStore('a batch whose promises are settled fails for those that rejected', async (test, open, mode) => {
  const send = async (payload: unknown): Promise<unknown> => {
    if (payload === 'bad') throw new Error('refused')
    return { sent: payload }
  }
  const listeners = new ListenerRegistry().register('Tested', {
    onEvents: (events) => Promise.allSettled(events.map(({ payload }) => send(payload))),
  })
  const { outbox, store, metrics } = await startOutbox(test, open(), {
    mode,
    listeners,
    retryPolicy: fixedDelay(1),
    maxAttempts: 2,
  })
  const [, bad] = await writeTested(outbox, 'good', 'bad', 'good')
  await metrics.until((seen) => seen.dispatchSuccess === 2 && seen.dispatchDead === 1)
  const row = (await rowOf(store, bad!))!
  deepEqual([row.attempts, row.lastError], [2, 'Error: refused'])
})

onEveryStore('a batch listener that returns something else fails', async (test, open, mode) => {
  const onEvents = (events: readonly unknown[]) => events.map(() => ({ rowCount: 1 })) as never
  const listeners = new ListenerRegistry().register('Tested', { onEvents })
  const { outbox, store, metrics } = await startOutbox(test, open(), { mode, listeners, maxAttempts: 1 })
  const [id] = await writeTested(outbox, 1)
  await metrics.until((seen) => seen.dispatchDead === 1)
  const row = (await rowOf(store, id!))!
  equal(row.attempts, 1)
  match(row.lastError!, /onEvents\(\) has to return nothing/)
})
