import { deepEqual, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { numbers, SharedWork } from '../shared-work.ts'
import { messagesTable, relay } from './old-relay.ts'

const script = 'hand-written-table/import.ts'

describe('moving from a hand-written table', () => {
  it(
    'sends every message once, although the relay goes on and an import is killed half-way',
    { timeout: 60_000 },
    async (test) => {
      const work = await SharedWork.open(test)
      await work.pool.query(messagesTable)
      await work.pool.query(`insert into messages (topic, key, payload)
        select 'Work', 'key-' || number % 7, json_build_object('number', number)
          from generate_series(1, 400) as number`)

      const stop = new AbortController()
      const send = async (_topic: string, payload: unknown) => {
        await sleep(20)
        await work.did((payload as { number: number }).number, 'old worker')
      }
      const relays = Promise.all([relay(work.pool, send, stop.signal), relay(work.pool, send, stop.signal)])
      work.atEnd(async () => {
        stop.abort()
        await relays
      })
      await work.untilOldWorkerDid(8)
      await work.killedImport(script, '5')
      await Promise.all([work.import(script, '20'), work.importAll(script, '20')])
      await relays
      await work.deliver()

      const [old, moved] = [await work.doneBy('old worker'), await work.doneBy('outbox')]
      deepEqual(
        [...old, ...moved].sort((one, other) => one - other),
        numbers(1, 400),
      )
      ok(old.length > 0 && moved.length > 0)
      const keys = 'select count(distinct ordering_key)::int as count from outbox_event'
      deepEqual((await work.pool.query(keys)).rows, [{ count: 7 }])
    },
  )
})
