import { deepEqual, equal, match } from 'node:assert/strict'
import { usualDoctorRequest } from '../../store/index.ts'
import type { PartCheck } from '../store-check.ts'
import { eventIds, insertAndClaim, insertOne, settleOne } from './check-steps.ts'

export const migrateChecks: readonly PartCheck[] = [
  {
    name: 'migrate: a second run changes nothing',
    needs: ['people'],
    async run({ store }) {
      const row = await insertAndClaim(store, 'a')
      await insertOne(store)
      const before = await store.people.query({ limit: 10 })
      await store.migrate()

      deepEqual(await store.people.query({ limit: 10 }), before)
      await settleOne(store, row, { kind: 'done' })
    },
  },
  {
    name: 'migrate: many runs at the same time do no harm',
    needs: ['people'],
    async run({ store }) {
      await Promise.all(Array.from({ length: 5 }, () => store.migrate()))
      await insertOne(store)

      equal(await store.people.count({}), 1)
    },
  },
  {
    name: 'checkSchema: a schema that migrate has made is ready, and stays as it is',
    async run({ store }) {
      const row = await insertAndClaim(store, 'a')
      await store.checkSchema()
      await settleOne(store, row, { kind: 'done' })
    },
  },
  {
    name: 'doctor: returns its findings with a code, in words, and says what to do',
    async run({ store }) {
      for (const { code, severity, message, fix } of (await store.doctor?.(usualDoctorRequest)) ?? []) {
        match(code, /^[A-Z][A-Z_]+$/)
        match(severity, /^(?:error|warning|info)$/)
        match(message, /\w+ \w+/)
        match(fix, /\w+ \w+/)
      }
    },
  },
  {
    name: 'migrate: another process may migrate while this one works',
    needs: ['people'],
    needsAnother: true,
    async run({ store, another }) {
      const others = [await another!(), await another!()]
      const [row] = await Promise.all([insertOne(store), ...others.map((other) => other.migrate())])

      for (const other of others) deepEqual(eventIds(await other.people.query({ limit: 10 })), [row.eventId])
    },
  },
]
