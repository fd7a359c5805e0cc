import { deepEqual, equal, ok } from 'node:assert/strict'
import type { CompleteStore, NewRow, Row } from '../../store/index.ts'
import type { PartCheck } from '../store-check.ts'
import { claimAll, insertRows, leaseOf, only, readRow } from './check-steps.ts'
import { sampleRow } from './sample-rows.ts'

const mebibyte = 1_048_576

const jsonTexts = {
  'keeps the order of keys, and keys that occur twice': '{"b":1,"a":2,"b":3,"10":4,"9":5}',
  'keeps white space': ' { "a" :\t[ 1,\r\n2 ] } ',
  'keeps numbers that no double can hold':
    '{"id":12345678901234567890,"rate":0.10000000000000000055,"big":1e400}',
  'keeps the spelling of numbers': '[1.0,1E2,-0,0.10]',
  'keeps Unicode': '{"text":"Zoë 日本語 🚀 👩‍👩‍👧 \u2028 e\u0301"}',
  'keeps escapes, NUL and lone surrogates among them': '{"text":"\\u0000 \\ud800 \\/ \\u00e9 \\\\ \\""}',
  'keeps quotes and everything else SQL is made of': `{"text":"it's; -- \`x\` $1 ? :a %s /* */ \\\\'"}`,
  'keeps a bare null': 'null',
  'keeps a bare string': '""',
}

export const payloadChecks: readonly PartCheck[] = [
  ...Object.entries(jsonTexts).map(([promise, payload]): PartCheck => ({
    name: `payload: JSON text ${promise}`,
    needs: ['people'],
    async run({ store }) {
      const row = await writtenAndClaimed(store, { payload })

      equal(row.payload, payload)
      equal(row.contentType, null)
      equal((await readRow(store, row)).payload, payload)
    },
  })),
  {
    name: 'payload: bytes of every value come back as bytes, with their content type',
    needs: ['people'],
    async run({ store }) {
      const payload = Uint8Array.from({ length: 512 }, (_, index) => index % 256)
      const row = await writtenAndClaimed(store, { payload, contentType: 'application/x-protobuf' })

      equal(row.contentType, 'application/x-protobuf')
      deepEqual(bytesOf(row), payload)
      deepEqual(bytesOf(await readRow(store, row)), payload)
    },
  },
  {
    name: 'payload: no bytes, and bytes that resemble text, come back as bytes',
    async run({ store }) {
      const contentType = 'application/octet-stream'
      const empty = await writtenAndClaimed(store, { payload: new Uint8Array(0), contentType })
      const text = await writtenAndClaimed(store, {
        payload: new TextEncoder().encode('{"a":1}'),
        contentType,
      })

      deepEqual(bytesOf(empty), new Uint8Array(0))
      deepEqual(bytesOf(text), new TextEncoder().encode('{"a":1}'))
    },
  },
  {
    name: 'payload: bytes in the middle of a larger buffer are stored alone',
    async run({ store }) {
      const payload = Uint8Array.of(0, 1, 2, 3, 4, 5, 6, 7).subarray(2, 5)
      const row = await writtenAndClaimed(store, { payload, contentType: 'application/octet-stream' })

      deepEqual(bytesOf(row), Uint8Array.of(2, 3, 4))
    },
  },
  {
    name: 'payload: text and bytes in one batch each come back as they were',
    async run({ store }) {
      const text = sampleRow({ payload: '{"a":1}' })
      const bytes = sampleRow({ payload: Uint8Array.of(0, 255), contentType: 'application/octet-stream' })
      await insertRows(store, [text, bytes])
      const [first, second] = await claimAll(store, 'a')

      equal(first!.payload, '{"a":1}')
      deepEqual(bytesOf(second!), Uint8Array.of(0, 255))
    },
  },
  {
    name: 'payload: a mebibyte of text or of bytes comes back whole',
    async run({ store }) {
      const text = `{"text": "${'ж'.repeat((mebibyte - 12) / 2)}"}`
      const bytes = Uint8Array.from({ length: mebibyte }, (_, index) => (index * 31) % 256)
      const asText = await writtenAndClaimed(store, { payload: text })
      const asBytes = await writtenAndClaimed(store, { payload: bytes, contentType: 'image/png' })

      ok(asText.payload === text, 'the text differs')
      ok(Buffer.from(bytes).equals(bytesOf(asBytes)), 'the bytes differ')
    },
  },
  {
    name: 'payload: headers come back as the text they were',
    needs: ['people'],
    async run({ store }) {
      const headers = '{"traceparent":"00-4bf92f35-00f067aa-01", "b":"ü 🚀","a":"\\u0000"}'
      const row = await writtenAndClaimed(store, { headers })

      equal(row.headers, headers)
      equal((await readRow(store, row)).headers, headers)
    },
  },
  {
    name: 'payload: every field comes back as it was written',
    async run({ store }) {
      const fields = {
        destination: 'billing',
        eventType: 'Order.Placed/v2',
        aggregateType: `O'Reilly "order"`,
        aggregateId: 'ордер \\ 1; --',
        tenantId: 'tenant 🚀',
        orderingKey: 'Order:1',
        partitionNo: 255,
        headers: '{}',
        occurredAt: 1_234_567_890_123,
      } as const
      const row = await writtenAndClaimed(store, fields)

      deepEqual({ ...row, ...fields }, { ...row })
    },
  },
  {
    name: 'payload: fields of several rows come back as they were written, whatever control characters they have',
    needs: ['people'],
    async run({ store }) {
      const texts = ['\u001f', 'a\u001e', '\u001e', '\u001f1\u001e', '\u001e1\u001f\n', 'null', '{}', ' ']
      const rows = texts.map((text) =>
        sampleRow({ aggregateId: text, tenantId: text, orderingKey: `${text}${text}`, contentType: text }),
      )
      await insertRows(store, [...rows, sampleRow({ tenantId: null })])

      for (const row of rows) {
        const { aggregateId, tenantId, orderingKey, contentType } = row
        const read = await readRow(store, row)
        deepEqual({ ...read, aggregateId, tenantId, orderingKey, contentType }, { ...read })
      }
    },
  },
  {
    name: 'payload: no bytes come back as no bytes, from one row and from several',
    async run({ store }) {
      const empty = () => sampleRow({ payload: new Uint8Array(), contentType: 'application/octet-stream' })
      await insertRows(store, [empty()])
      await insertRows(store, [empty(), empty()])

      for (const row of await claimAll(store, 'a')) deepEqual(bytesOf(row), new Uint8Array())
    },
  },
  {
    name: 'payload: null fields come back null, and partition 0 as 0',
    async run({ store }) {
      const nulls = { aggregateId: null, tenantId: null, orderingKey: null, contentType: null, headers: null }
      const row = await writtenAndClaimed(store, { ...nulls, partitionNo: null })
      const { aggregateId, tenantId, orderingKey, contentType, headers } = row

      deepEqual({ aggregateId, tenantId, orderingKey, contentType, headers }, nulls)
      equal(row.partitionNo, null)
      equal((await writtenAndClaimed(store, { orderingKey: 'key', partitionNo: 0 })).partitionNo, 0)
    },
  },
  {
    name: 'payload: the longest fields an event may have are stored whole',
    async run({ store }) {
      const longest = {
        eventType: 'é'.repeat(128),
        aggregateType: 'é'.repeat(64),
        aggregateId: 'é'.repeat(128),
        tenantId: 'é'.repeat(64),
      }
      const { eventType, aggregateType, aggregateId, tenantId } = await writtenAndClaimed(store, longest)

      deepEqual({ eventType, aggregateType, aggregateId, tenantId }, longest)
    },
  },
  {
    name: 'payload: rows of one event for different destinations are separate rows',
    needs: ['people'],
    async run({ store }) {
      const billing = sampleRow({ destination: 'billing', payload: '{"to":"billing"}' })
      const shipping = { ...billing, destination: 'shipping', payload: '{"to":"shipping"}' }
      await insertRows(store, [billing, shipping])
      const rows = await claimAll(store, 'a')
      await store.settle({ settlements: [{ row: rows[0]!, outcome: { kind: 'delete' } }] })

      deepEqual(
        rows.map((row) => [row.destination, row.payload]),
        [
          ['billing', '{"to":"billing"}'],
          ['shipping', '{"to":"shipping"}'],
        ],
      )
      equal((await readRow(store, shipping)).payload, '{"to":"shipping"}')
    },
  },
]

async function writtenAndClaimed<Tx>(store: CompleteStore<Tx>, fields: Partial<NewRow>): Promise<Row> {
  const row = sampleRow(fields)
  await insertRows(store, [row])
  return only(await store.claim({ lease: leaseOf('a'), limit: 10, rows: [row] }))
}

// Drivers return bytes in a subclass of their own; the class is not part of the promise.
function bytesOf(row: Row): Uint8Array {
  ok(row.payload instanceof Uint8Array, 'the payload should be bytes')
  return new Uint8Array(row.payload)
}
