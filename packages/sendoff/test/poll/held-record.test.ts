import { deepEqual, equal, rejects } from 'node:assert/strict'
import { it } from 'node:test'
import { systemClock } from '../../src/clock.ts'
import { InFlightTracker } from '../../src/delivery/in-flight-tracker.ts'
import type { NamedLock } from '../../src/hold/named-lock.ts'
import { HeldRecord } from '../../src/poll/held-record.ts'
import type { FencedRow, OwnerFence } from '../../src/store/index.ts'
import { deliveryOf } from '../fixtures/delivery-of.ts'

const owner: OwnerFence = { lock: 'partitions/me', token: 'me/1' }

it('rows that could not be recorded are in no later record', async () => {
  const records: (readonly FencedRow[])[] = []
  const answers = [() => Promise.reject(new Error('The database is down.')), () => Promise.resolve(false)]
  const hold = async ({ rows }: { readonly rows: readonly FencedRow[] }) => {
    records.push(rows.map(({ seq, deliveries }) => ({ seq, deliveries })))
    return (await answers.shift()?.()) ?? true
  }
  const record = new HeldRecord({ store: { lanes: { hold } }, lock: {} as NamedLock })
  for (let count = 0; count < 2; count++) record.add(new InFlightTracker({ clock: systemClock }))
  const read = (seq: number) => deliveryOf({ seq, eventId: `e-${seq}`, deliveries: 0, lockedBy: null })

  await rejects(record.take(owner, [read(1)]))
  equal(await record.take(owner, [read(2)]), false)
  equal(await record.take(owner, [read(3)]), true)
  deepEqual(
    records,
    [1, 2, 3].map((seq) => [{ seq, deliveries: 0 }]),
  )
})
