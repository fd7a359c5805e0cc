import { deepEqual, equal, match } from 'node:assert/strict'
import { Writable } from 'node:stream'
import { describe, it, type TestContext } from 'node:test'
import { pino } from 'pino'
import winston from 'winston'
import { type LogFields, type Logger, loggerFrom } from '../../src/observe/logger.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'

/** Makes an event DEAD, and returns its id. */
async function failOne(test: TestContext, logger: Logger, times = 1): Promise<string> {
  const outbox = await Outbox.multiNode({ store: memoryStore(), logger, maxAttempts: 1 }).start()
  test.after(() => outbox.close())
  outbox.on('OrderPlaced', () => {
    throw new Error('the carrier does not answer')
  })
  const events = Array.from({ length: times }, () => ({
    type: { name: 'OrderPlaced' },
    payload: { card: '4111-secret' },
    fields: { tenantId: 'acme', headers: { authorization: 'secret-header' } },
  }))
  const [id] = await outbox.transaction(() => outbox.writeAll(events))
  await outbox.drain()
  await outbox.close()
  return id!
}

function lines(): { readonly stream: Writable; readonly read: () => Record<string, unknown>[] } {
  let text = ''
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      text += chunk.toString()
      done()
    },
  })
  return {
    stream,
    read: () =>
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>),
  }
}

const fieldsOf = (eventId: string): LogFields => ({
  eventId,
  eventType: 'OrderPlaced',
  destination: '',
  tenantId: 'acme',
  attempt: 1,
  reason: 'Error: the carrier does not answer',
})

describe('a log line has a message for people and fields for machines', () => {
  it('in pino', async (test) => {
    const { stream, read } = lines()
    const id = await failOne(test, pino(stream))
    const line = read().find(({ level }) => level === 50)!
    equal(line.msg, `Event ${id} (OrderPlaced) is DEAD: Error: the carrier does not answer`)
    const { eventId, eventType, destination, tenantId, attempt, reason } = line
    deepEqual({ eventId, eventType, destination, tenantId, attempt, reason }, fieldsOf(id))
  })

  it('in winston', async (test) => {
    const { stream, read } = lines()
    const transports = [new winston.transports.Stream({ stream })]
    const id = await failOne(test, winston.createLogger({ transports, format: winston.format.json() }))
    const { level, message, ...fields } = read().find((line) => line.level === 'error')!
    equal(message, `Event ${id} (OrderPlaced) is DEAD: Error: the carrier does not answer`)
    deepEqual([level, fields], ['error', fieldsOf(id)])
  })

  it('on the console as text alone', (test) => {
    const warn = test.mock.method(console, 'warn', () => {})
    loggerFrom(console).warn('told', { eventId: 'e' })
    deepEqual(warn.mock.calls[0]!.arguments, ['told'])
  })

  it('without payloads, headers and secrets', async (test) => {
    const told: string[] = []
    const tell = (message: string, fields?: LogFields) => void told.push(message + JSON.stringify(fields))
    await failOne(test, { debug: tell, info: tell, warn: tell, error: tell })
    match(told.join('\n'), /is DEAD/)
    equal(/secret/.test(told.join('\n')), false)
  })
})

describe('repeated faults', () => {
  it('are counted in one line, in its fields too', async (test) => {
    const told: [string, LogFields | undefined][] = []
    const error = (message: string, fields?: LogFields) => void told.push([message, fields])
    await failOne(test, { debug() {}, info() {}, warn() {}, error }, 20)
    equal(told.length, 6)
    match(told[5]![0], /^15 more events of "OrderPlaced" became DEAD within 10 s/)
    deepEqual([told[5]![1]!.count, told[5]![1]!.eventType], [15, 'OrderPlaced'])
  })
})
