import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { IncomingMessage } from '../../src/consumers/incoming-message.ts'
import { MessageRuns, type RunResult } from '../../src/consumers/message-runs.ts'
import type { ConsumedMessage, ConsumerInbox, ConsumerOptions } from '../../src/consumers/shared.ts'
import { RetryAfterError, UnrecoverableError } from '../../src/errors.ts'
import { exponentialBackoff } from '../../src/retry/exponential-backoff.ts'
import { Effects } from './effects.ts'

function messageWith(fields: Partial<IncomingMessage> = {}): IncomingMessage {
  return {
    source: 'orders',
    headers: { 'event-id': 'm-1', 'event-type': 'Placed' },
    contentType: undefined,
    body: Buffer.from('{"n":1}'),
    key: null,
    ...fields,
  }
}

function logged(): { readonly lines: string[]; readonly logger: ConsumerOptions<any>['logger'] & object } {
  const lines: string[] = []
  const keep = (line: string): void => void lines.push(line)
  return { lines, logger: { debug() {}, info() {}, warn: keep, error: keep } }
}

/** An inbox whose outcomes a test sets. */
function inboxThat(process: ConsumerInbox<any>['process']): ConsumerInbox<any> {
  return {
    consumer: 'c',
    process,
    accept: () => Promise.resolve({ outcome: 'accepted', eventId: 'e' }),
  }
}

/** Runs the handler, as a transaction would that commits. */
const committing = inboxThat(async (_, handler) => {
  await handler({})
  return 'processed'
})

const isRetry = (result: RunResult, why: string): boolean => typeof result === 'object' && result.why === why

describe('the core of consumers', () => {
  it('never acknowledges a message that another consumer holds', async () => {
    const outcomes = ['busy', 'busy', 'duplicate'] as const
    let calls = 0
    const inbox = inboxThat(async () => outcomes[calls++]!)
    const runs = MessageRuns.of('Test', { inbox, handler() {}, logger: false })
    ok(isRetry(await runs.run(messageWith()), 'busy'))
    ok(isRetry(await runs.run(messageWith()), 'busy'))
    equal(await runs.run(messageWith()), 'done')
  })

  it('counts no attempt while the database is away, and tells of it once', async (test) => {
    const effects = await Effects.forTest(test)
    const { lines, logger } = logged()
    let isAway = true
    const attempts: number[] = []
    const inbox = inboxThat(async (...args) => {
      if (isAway) throw new Error('connection refused')
      return await effects.inbox.process(...args)
    })
    const runs = MessageRuns.of('Test', {
      inbox: { ...inbox, accept: (message) => effects.inbox.accept(message) },
      accept: true,
      logger,
      retry: exponentialBackoff({ maxAttempts: 2 }),
      handler: (_, __, { attempt }) => void attempts.push(attempt),
    })
    for (let times = 0; times < 30; times++) ok(isRetry(await runs.run(messageWith()), 'unavailable'))
    isAway = false
    equal(await runs.run(messageWith()), 'done')
    deepEqual(attempts, [1])
    deepEqual(effects.accepted, [])
    equal(lines.length, 2, lines.join('\n'))
    match(lines.join('\n'), /cannot process messages.*connection refused\nTest: .*again/)
  })

  it('counts no attempt if the commit fails after the handler', async () => {
    const attempts: number[] = []
    const inbox = inboxThat(async (_, handler) => {
      await handler({})
      throw new Error('the connection broke')
    })
    const runs = MessageRuns.of('Test', {
      inbox,
      logger: false,
      handler: (_, __, { attempt }) => void attempts.push(attempt),
    })
    for (let times = 0; times < 3; times++) ok(isRetry(await runs.run(messageWith()), 'unavailable'))
    deepEqual(attempts, [1, 1, 1])
  })

  it('makes waits longer while the database is away', async () => {
    const inbox = inboxThat(() => Promise.reject(new Error('away')))
    const runs = MessageRuns.of('Test', { inbox, handler() {}, logger: false })
    const waits: number[] = []
    for (let times = 0; times < 12; times++) {
      waits.push(((await runs.run(messageWith())) as { retryAfterMs: number }).retryAfterMs)
    }
    ok(waits[0]! <= 300 && waits.at(-1)! >= 2_500, String(waits))
  })

  it('runs as many handlers at a time as allowed', async () => {
    let running = 0
    let most = 0
    const runs = MessageRuns.of('Test', {
      inbox: committing,
      concurrency: 3,
      async handler() {
        most = Math.max(most, ++running)
        await new Promise(setImmediate)
        running -= 1
      },
    })
    const ids = Array.from({ length: 50 }, (_, number) =>
      messageWith({ headers: { 'event-id': `m-${number}` } }),
    )
    const results = await Promise.all(ids.map((message) => runs.run(message)))
    equal(
      results.every((result) => result === 'done'),
      true,
    )
    equal(most, 3)
  })

  it('hands a message to accept at once if no attempt can succeed', async (test) => {
    const effects = await Effects.forTest(test)
    const { lines, logger } = logged()
    const runs = MessageRuns.of('Test', {
      inbox: effects.inbox,
      accept: true,
      logger,
      handler() {
        throw new UnrecoverableError('an unknown currency')
      },
    })
    equal(await runs.run(messageWith({ key: 'k-1' })), 'done')
    equal(await runs.run(messageWith()), 'done')
    deepEqual(effects.processed, ['processed', 'duplicate'])
    const [row] = await effects.rows('Placed')
    deepEqual([row!.payload, row!.orderingKey], ['{"n":1}', 'k-1'])
    match(lines[0]!, /became an event: .*an unknown currency/)
  })

  it('keeps a message that goes nowhere without accept, however often it fails', async () => {
    const runs = MessageRuns.of('Test', {
      inbox: committing,
      logger: false,
      retry: exponentialBackoff({ maxAttempts: 1 }),
      handler() {
        throw new Error('poison')
      },
    })
    for (let times = 0; times < 10; times++) ok(isRetry(await runs.run(messageWith()), 'failed'))
  })

  it('waits as long as the handler asks for', async () => {
    const runs = MessageRuns.of('Test', {
      inbox: committing,
      logger: false,
      handler() {
        throw new RetryAfterError(12_345)
      },
    })
    deepEqual(await runs.run(messageWith()), { retryAfterMs: 12_345, why: 'failed' })
  })

  it('logs a few failures of each kind and counts the rest', async () => {
    const { lines, logger } = logged()
    const runs = MessageRuns.of('Test', {
      inbox: committing,
      logger,
      handler() {
        throw new Error('down')
      },
    })
    for (let times = 0; times < 100; times++) await runs.run(messageWith())
    equal(lines.length, 5)
    await runs.settled()
    match(lines.at(-1)!, /95 more/)
  })

  it('begins nothing once it closes', async () => {
    let calls = 0
    const runs = MessageRuns.of('Test', { inbox: committing, handler: () => void (calls += 1) })
    runs.beginClose()
    equal(await runs.run(messageWith()), 'left')
    equal(await runs.runUntilDone(messageWith(), new AbortController().signal), false)
    equal(calls, 0)
  })

  const fates = { retry: 'invalid', drop: 'dropped' } as const
  for (const [onInvalid, fate] of Object.entries(fates)) {
    it(`tells of a message without an id, with onInvalid "${onInvalid}"`, async () => {
      const { lines, logger } = logged()
      const runs = MessageRuns.of('Test', {
        inbox: committing,
        logger,
        onInvalid: onInvalid as keyof typeof fates,
        handler() {},
      })
      const result = await runs.run(messageWith({ headers: {}, place: '3/17' }))
      equal(typeof result === 'object' ? result.why : result, fate)
      match(lines.join('\n'), /OutboxError: The message 3\/17 from "orders" has no id.*messageId/)
      ok(!lines.join('\n').includes('{"n"'), 'no payloads in the log')
    })
  }

  it('keeps a message whose "onInvalid" fails', async () => {
    const runs = MessageRuns.of('Test', {
      inbox: committing,
      logger: false,
      handler() {},
      onInvalid() {
        throw new Error('the quarantine is away')
      },
    })
    ok(isRetry(await runs.run(messageWith({ headers: {} })), 'invalid'))
  })
})

describe('the message of a handler', () => {
  const read = async (
    fields: Partial<IncomingMessage>,
    options: Partial<ConsumerOptions<any>> = {},
  ): Promise<ConsumedMessage> => {
    const messages: ConsumedMessage[] = []
    const runs = MessageRuns.of('Test', {
      inbox: committing,
      logger: false,
      ...options,
      handler: (message) => void messages.push(message),
    })
    equal(await runs.run(messageWith(fields)), 'done')
    return messages[0]!
  }

  it('has the id of our publishers before all others', async () => {
    const headers = { 'event-id': 'ours', 'ce-specversion': '1.0', 'ce-id': 'theirs', 'ce-source': '/s' }
    equal((await read({ headers, brokerId: 'of the broker' })).id, 'ours')
  })

  for (const prefix of ['ce-', 'ce_', 'cloudevents:', 'cloudevents_']) {
    it(`has source and id of a CloudEvent with attributes in headers, ${prefix}`, async () => {
      const headers = {
        [`${prefix}specversion`]: '1.0',
        [`${prefix}id`]: '7',
        [`${prefix}source`]: '/shop',
        [`${prefix}type`]: 'Paid',
        [`${prefix}partitionkey`]: 'k',
      }
      const { id, type, key, payload } = await read({ headers })
      deepEqual({ id, type, key, payload }, { id: '/shop 7', type: 'Paid', key: 'k', payload: { n: 1 } })
    })
  }

  it('has a hash for source and id of a CloudEvent that are too long', async () => {
    const headers = { 'ce-specversion': '1.0', 'ce-id': '7', 'ce-source': `/${'s'.repeat(300)}` }
    match((await read({ headers })).id, /^[\w-]{43}$/)
  })

  it('has the content of a structured CloudEvent', async () => {
    const structured = (event: object) =>
      read({
        headers: {},
        contentType: 'application/cloudevents+json; charset=utf-8',
        body: Buffer.from(
          JSON.stringify({ specversion: '1.0', id: '7', source: '/s', type: 'Paid', ...event }),
        ),
      })
    const json = await structured({ data: { n: 2 }, datacontenttype: 'application/json' })
    deepEqual([json.id, json.type, json.payload], ['/s 7', 'Paid', { n: 2 }])
    const bytes = await structured({ data_base64: 'AQI=', datacontenttype: 'image/png' })
    deepEqual([bytes.payload, bytes.contentType], [Buffer.from([1, 2]), 'image/png'])
  })

  it('has the id of the broker if there is no other, or that of a function', async () => {
    equal((await read({ headers: {}, brokerId: 'b-1' })).id, 'b-1')
    const messageId = ({ payload }: { payload: unknown }): string => `order-${(payload as { n: number }).n}`
    equal((await read({ headers: {} }, { messageId })).id, 'order-1')
  })

  it('has bytes as its payload if the content is not JSON, and null without a body', async () => {
    deepEqual((await read({ contentType: 'image/png' })).payload, Buffer.from('{"n":1}'))
    equal((await read({ body: Buffer.alloc(0) })).payload, null)
  })

  it('refuses to be read if it is not JSON although it should be', async () => {
    const errors: unknown[] = []
    const runs = MessageRuns.of('Test', {
      inbox: committing,
      logger: false,
      handler(message) {
        try {
          return message.payload
        } catch (error) {
          errors.push((error as { code: string }).code)
          throw error
        }
      },
    })
    ok(isRetry(await runs.run(messageWith({ body: Buffer.from('{') })), 'failed'))
    deepEqual(errors, ['OUTBOX_PAYLOAD_UNREADABLE'])
  })
})
