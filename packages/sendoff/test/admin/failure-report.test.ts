import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readFailures } from '../../src/admin/failure-report.ts'
import { normalError } from '../../src/admin/normal-error.ts'
import type { FailureGroup, OutboxLooks } from '../../src/store/index.ts'

describe('the text of a failure', () => {
  for (const [error, text] of [
    ['Error: order 4711 of 1,250.50 EUR', 'Error: order <n> of <n> EUR'],
    ['Error: no user 3f2b8a54-1c7e-4d7a-9a4e-0123456789ab', 'Error: no user <id>'],
    ['Error: event 01ARZ3NDEKTSV4RRFFQ69G5FAV', 'Error: event <id>'],
    ['Error: at 2026-11-19T20:11:17.123Z and 2026-11-19 20:11', 'Error: at <time> and <time>'],
    ['Error: no mailbox ann.b+c@shop.example.com', 'Error: no mailbox <address>'],
    ['Error: commit deadbeef01 at 0x7ffe', 'Error: commit <id> at <id>'],
    ['Error: "o-17" is not \'paid\'', "Error: <value> is not 'paid'"],
    ['Error: order-17 and cust_99-b', 'Error: <id> and <id>'],
    ['Error: -5 of 1.2.3.4:5432', 'Error: <n> of <n>:<n>'],
    ['HTTP2Error: stream of http2', 'HTTP2Error: stream of http2'],
    ['Error: facade decade', 'Error: facade decade'],
    ['', ''],
  ] as const) {
    it(`is "${text}" for "${error}"`, () => equal(normalError(error), text))
  }
})

it('groups of the same fault are one, with the first and the last time, and the newest sample', async () => {
  const group = (error: string, count: number, firstAt: number, lastAt: number): FailureGroup => ({
    ...{ eventType: 'Placed', destination: '', error, count, firstAt, lastAt },
    sample: `event of ${error}`,
  })
  const failures: OutboxLooks['failures'] = async () => ({
    groups: [
      group('Error: order 1', 2, 100, 500),
      group('Error: order 2', 3, 50, 400),
      group('TypeError: order 3', 4, 10, 20),
      { ...group('Error: order 4', 1, 1, 900), destination: 'mail' },
    ],
    examined: 10,
    isComplete: true,
  })
  const { groups } = await readFailures({ failures } as OutboxLooks)
  deepEqual(
    groups.map(({ errorClass, text, destination, count, firstAt, lastAt, sample }) => [
      ...[errorClass, text, destination, count, firstAt, lastAt],
      sample.error,
    ]),
    [
      ['Error', 'Error: order <n>', '', 5, 50, 500, 'Error: order 1'],
      ['TypeError', 'TypeError: order <n>', '', 4, 10, 20, 'TypeError: order 3'],
      ['Error', 'Error: order <n>', 'mail', 1, 1, 900, 'Error: order 4'],
    ],
  )
})
