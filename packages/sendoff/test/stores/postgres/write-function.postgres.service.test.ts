import { deepEqual, equal, match, ok, rejects, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type pg from 'pg'
import { EventEnvelope } from '../../../src/event/event-envelope.ts'
import { Expansion } from '../../../src/route/expansion.ts'
import type { EventFields } from '../../../src/event/event-fields.ts'
import { partitionOf } from '../../../src/store/partition-of.ts'
import type { StoredRow } from '../../../src/store/index.ts'
import { claim, newRole, newStore, type PgStore } from './test-store.ts'

type Fields = EventFields & { eventType?: string; payloadJson?: string }

const names: Readonly<Record<keyof Fields, string>> = {
  eventType: 'event_type',
  payloadJson: 'payload',
  eventId: 'event_id',
  occurredAt: 'occurred_at',
  aggregateType: 'aggregate_type',
  aggregateId: 'aggregate_id',
  tenantId: 'tenant_id',
  orderingKey: 'ordering_key',
  headers: 'headers',
  availableAt: 'available_at',
  deliverAfterMs: 'deliver_after',
  contentType: 'content_type',
  idempotencyKey: 'idempotency_key',
}

const accepted: readonly Fields[] = [
  {},
  { payloadJson: ' { "b": 1.0, "a": [1e400, "\\u0000 \\ud800"] } ' },
  { aggregateType: 'Order', aggregateId: 'o-1' },
  { aggregateId: 'ö 🚀' },
  { aggregateType: 'Order', aggregateId: 'o-1', orderingKey: 'customer-1' },
  { orderingKey: 'k'.repeat(255), tenantId: 't'.repeat(64) },
  { eventType: '🚀'.repeat(64), aggregateType: 'a'.repeat(64), aggregateId: 'a'.repeat(128) },
  { eventId: 'e'.repeat(36), contentType: 'c'.repeat(128), idempotencyKey: 'i'.repeat(200) },
  { headers: { traceparent: '00-abc', empty: '' } },
  { headers: {} },
  { occurredAt: new Date(Date.UTC(2020, 1, 2, 3, 4, 5, 678)) },
  { occurredAt: new Date(1_000), availableAt: new Date(1_000) },
  { availableAt: new Date(Date.now() + 60_000) },
  { availableAt: new Date() },
  { payloadJson: `"${'x'.repeat(1_048_574)}"` },
  { headers: { long: 'x'.repeat(65_536 - '{"long":""}'.length) } },
  { occurredAt: new Date(Date.UTC(1000, 0, 1)) },
  { occurredAt: new Date(Date.UTC(9999, 11, 31, 23, 59, 59, 999)) },
  { availableAt: new Date(Date.UTC(2099, 11, 31, 23, 59, 59, 999)) },
  { payloadJson: nested(1_000) },
  { payloadJson: `["\\\\", "${'[{'.repeat(2_000)}\\"", ${nested(999)}]` },
  { payloadJson: `[${'{},'.repeat(2_000)}[]]` },
]

const refused: readonly Fields[] = [
  ...(
    [
      'eventType',
      'eventId',
      'aggregateType',
      'aggregateId',
      'tenantId',
      'orderingKey',
      'contentType',
      'idempotencyKey',
    ] as const
  ).map((name) => ({ [name]: '' })),
  { eventType: 'x'.repeat(129) },
  { eventType: `${'🚀'.repeat(64)}x` },
  { eventId: 'x'.repeat(37) },
  { aggregateType: 'x'.repeat(65) },
  { aggregateId: 'x'.repeat(129) },
  { tenantId: 'x'.repeat(65) },
  { orderingKey: 'x'.repeat(256) },
  { contentType: 'x'.repeat(129) },
  { idempotencyKey: 'x'.repeat(201) },
  { payloadJson: `"${'x'.repeat(1_048_575)}"` },
  { payloadJson: '{' },
  { headers: { long: 'x'.repeat(65_536) } },
  { headers: { count: 1 as never } },
  { headers: { nul: '\0' } },
  { headers: { half: '\ud800' } },
  { headers: [] as never },
  { deliverAfterMs: 0 },
  { deliverAfterMs: -1 },
  { deliverAfterMs: 5, availableAt: new Date(Date.now() + 60_000) },
  { availableAt: new Date(Date.now() - 2_000) },
  { occurredAt: new Date(2_000), availableAt: new Date(1_000) },
  { occurredAt: new Date(Date.UTC(1000, 0, 1) - 1) },
  { occurredAt: new Date(Date.UTC(9999, 11, 31, 23, 59, 59, 999) + 1) },
  { availableAt: new Date(Date.UTC(10_000, 0, 1)) },
  { availableAt: new Date(Date.now() + 36_526 * 86_400_000) },
  { deliverAfterMs: 36_526 * 86_400_000 },
  { deliverAfterMs: 8_000 * 366 * 86_400_000 },
  { payloadJson: nested(1_001) },
  { payloadJson: `{"a":${'{"b":['.repeat(500)}1${']}'.repeat(500)}}` },
]

function nested(depth: number): string {
  return '['.repeat(depth) + ']'.repeat(depth)
}

describe('postgres store: the function that writes events', () => {
  it('writes what the writer would have written', async (t) => {
    const place = await newStore(t)
    for (const fields of accepted) {
      const envelope = EventEnvelope.of({ eventType: 'OrderPlaced', payloadJson: '{"a": 1}', ...fields })
      const expected = envelope.toRow(false)
      const row = await written(place, { eventType: 'OrderPlaced', payloadJson: '{"a": 1}', ...fields })

      const { due, idempotencyKey, claimed, hasNewId, eventId, occurredAt, ...same } = expected
      const { eventId: id, occurredAt: at, ...stored } = row
      deepEqual(
        Object.fromEntries(Object.keys(same).map((name) => [name, stored[name as keyof typeof stored]])),
        same,
      )
      deepEqual([row.status, row.attempts, row.deliveries, row.losses, row.lockedBy], [0, 0, 0, 0, null])
      if (fields.eventId !== undefined) equal(id, eventId)
      if (fields.occurredAt !== undefined) equal(at, occurredAt)
      if ('at' in due) equal(row.availableAt, due.at)
      ok(claimed === false && idempotencyKey === (fields.idempotencyKey ?? null))
      equal(hasNewId, fields.eventId === undefined)
    }
  })

  it('gives an event the destinations that the writer would give it', async (t) => {
    const place = await newStore(t)
    const rules = [
      { type: 'Order*', aggregate: '*', to: ['kafka', 'mail'] },
      { type: '*Placed', aggregate: 'Or*er', to: ['audit', 'mail'] },
      { type: '100%_\\*', aggregate: '*', to: ['odd'] },
      { type: 'Exact', aggregate: '__GLOBAL__', to: ['', 'exact'] },
    ]
    const content = JSON.stringify({ rules, default: ['rest'] })
    await place.store.routing.publish({ version: 3, content: JSON.stringify({ rules: [], default: [''] }) })
    const stored = await place.store.routing.publish({ version: 12, content })
    const expansion = new Expansion(stored)
    const types = ['OrderPlaced', 'Placed', 'Order', 'order', '100%_\\x', '100x_\\', 'Exact', 'Exactly', 'B']
    for (const eventType of types) {
      for (const aggregateType of ['Order', 'Other', '__GLOBAL__']) {
        const eventId = await call(place, { eventType, aggregateType, payloadJson: '1' })
        const rows = await place.store.people.query({ eventId, limit: 10 })
        deepEqual(
          rows.map(({ destination }) => destination).sort(),
          [...expansion.of({ aggregateType, eventType })].sort(),
          `${eventType} of ${aggregateType}`,
        )
      }
    }
  })

  it('refuses what the writer refuses', async (t) => {
    const place = await newStore(t)
    for (const fields of refused) {
      const all = { eventType: 'OrderPlaced', payloadJson: '{}', ...fields }
      throws(() => EventEnvelope.of(all), { name: 'OutboxError' }, JSON.stringify(fields).slice(0, 80))
      await rejects(call(place, all), /./, JSON.stringify(fields).slice(0, 80))
    }
    await rejects(call(place, { payloadJson: '{}' }), { code: '22023' })
    await rejects(call(place, { eventType: 'OrderPlaced' }), { code: '22023' })
    equal(await place.store.people.count({}), 0)
  })

  it('says what to do where it refuses an endless time, a deep payload or unfit headers', async (t) => {
    const { pool, schema, store } = await newStore(t)
    const refusals: Readonly<Record<string, RegExp>> = {
      "occurred_at => 'infinity'": /occurred_at outside the years 1000 to 9999/,
      "occurred_at => '-infinity'": /occurred_at outside the years 1000 to 9999/,
      "available_at => 'infinity'": /due outside the years 1000 to 9999/,
      "available_at => '-infinity'": /due outside the years 1000 to 9999/,
      "deliver_after => '100000 years'": /due outside the years 1000 to 9999/,
      'headers => \'{"a":"\\u0000"}\'': /NUL character or half a surrogate pair/,
      'headers => \'{"a":"\\ud800"}\'': /NUL character or half a surrogate pair/,
    }
    for (const [argument, message] of Object.entries(refusals)) {
      const refused = pool.query(`select "${schema}".outbox_event_write('E', '1', ${argument})`)
      await rejects(refused, { code: '22023', message }, argument)
    }
    const deep = pool.query(`select "${schema}".outbox_event_write('E', $1)`, [nested(1_001)])
    await rejects(deep, { code: '22023', message: /nested deeper than 1000 levels/, hint: /flatter/ })
    equal(await store.people.count({}), 0)
  })

  it('is replaced in a database that an earlier version has migrated', async (t) => {
    const { pool, schema, store } = await newStore(t)
    await pool.query(`update "${schema}".outbox_event_meta set value = '1' where key = 'version'`)
    await store.migrate()

    const call = pool.query(`select "${schema}".outbox_event_write('E', '1', occurred_at => 'infinity')`)
    await rejects(call, { code: '22023' })
    equal((await pool.query(`select "${schema}".outbox_event_write('E', '1')`)).rowCount, 1)
  })

  it('makes ids like the writer: ULIDs of the time, each another', async (t) => {
    const place = await newStore(t)
    const before = Date.now()
    const ids = await Promise.all(
      Array.from({ length: 50 }, () => call(place, { eventType: 'A', payloadJson: '1' })),
    )
    const after = Date.now()

    equal(new Set(ids).size, 50)
    equal(new Set(ids.flatMap((id) => [...id.slice(10)])).size, 32, 'every digit occurs')
    for (const id of ids) {
      match(id, /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
      const time = timeOf(id)
      ok(time >= before - 1_000 && time <= after + 1_000, `${time} is not about now`)
    }
  })

  it('puts keys into the partitions of the writer', async (t) => {
    const place = await newStore(t)
    for (const orderingKey of ['a', 'Order:1', 'Straße', '日本語', '🚀', 'x'.repeat(255)]) {
      equal(
        (await written(place, { eventType: 'A', payloadJson: '1', orderingKey })).partitionNo,
        partitionOf(orderingKey),
      )
    }
  })

  it('makes an event due after a delay by the clock of the database, and others at once', async (t) => {
    const place = await newStore(t)
    await written(place, { eventType: 'Later', payloadJson: '1', deliverAfterMs: 60_000 })
    const now = await written(place, { eventType: 'Now', payloadJson: '1' })
    const [later] = await place.store.people.query({ eventType: 'Later', limit: 1 })

    ok(later!.availableAt - later!.createdAt >= 60_000 && later!.availableAt - later!.createdAt < 61_000)
    equal(now.availableAt, now.createdAt)
    deepEqual(
      (await claim(place.store)).map((row) => row.eventId),
      [now.eventId],
    )
  })

  it('answers the first id where an idempotency key was used before, by either way of writing', async (t) => {
    const place = await newStore(t)
    const event = { eventType: 'A', payloadJson: '1', idempotencyKey: 'key' }
    const id = await call(place, event)
    equal(await call(place, event), id)
    const results = await place.store.transaction((tx) =>
      place.store.insert({ tx, rows: [EventEnvelope.of(event).toRow(false)], lease: { owner: '', ms: 0 } }),
    )

    deepEqual(results, [{ kind: 'duplicate', eventId: id }])
    equal(await place.store.people.count({}), 1)
  })

  it('belongs to the transaction it is called in, such as that of a trigger', async (t) => {
    const { store, pool, schema } = await newStore(t)
    await pool.query(`
      create table "${schema}".orders (id text primary key);
      create function "${schema}".placed() returns trigger language plpgsql as $$
      begin
        perform "${schema}".outbox_event_write('OrderPlaced', to_json(new), 'Order', new.id);
        return new;
      end $$;
      create trigger placed after insert on "${schema}".orders for each row execute function "${schema}".placed()`)
    await pool.query(`begin; insert into "${schema}".orders values ('undone'); rollback`)
    await pool.query(`insert into "${schema}".orders values ('kept')`)

    deepEqual(
      (await store.people.query({ limit: 10 })).map((row) => [row.payload, row.orderingKey]),
      [['{"id":"kept"}', 'Order:kept']],
    )

    const content = JSON.stringify({
      rules: [{ type: 'Order*', aggregate: '*', to: ['', 'mail'] }],
      default: [''],
    })
    await store.routing.publish({ version: 1, content })
    await pool.query(`insert into "${schema}".orders values ('routed')`)
    deepEqual(
      (await store.people.query({ limit: 10 })).map((row) => [row.payload, row.destination]),
      [
        ['{"id":"kept"}', ''],
        ['{"id":"routed"}', ''],
        ['{"id":"routed"}', 'mail'],
      ],
    )
  })

  it('takes payload and headers as json, jsonb and text, and keeps json and text as they are', async (t) => {
    const { store, pool, schema } = await newStore(t)
    const payload = ' { "b": 1.0, "a": [1e400] } '
    const headers = '{"trace": "1"}'
    const write = `select "${schema}".outbox_event_write('E'`
    for (const type of ['json', 'jsonb', 'text', 'varchar']) {
      await pool.query(`${write}, $1::${type}, headers => $2::${type})`, [payload, headers])
      await pool.query(`${write}, $1::${type}, headers => $2)`, [payload, headers])
      await pool.query(`${write}, $1::${type})`, [payload])
    }
    await pool.query(`${write}, $1, headers => $2)`, [payload, headers])
    await pool.query(`${write}, '${payload}', headers => '${headers}')`)
    await pool.query(`${write}, jsonb_build_object('id', 7), headers => jsonb_build_object('trace', '1'))`)

    const rows = await store.people.query({ limit: 100 })
    const expanded = JSON.stringify(JSON.parse(payload.replace('1e400', '"n"')))
    equal(expanded, '{"b":1,"a":["n"]}')
    deepEqual(
      rows.map((row) => row.payload).filter((text) => text !== payload),
      [...Array.from({ length: 3 }, () => `{"a": [1${'0'.repeat(400)}], "b": 1.0}`), '{"id": 7}'],
    )
    deepEqual(
      new Set(rows.map(({ headers: stored }) => stored && JSON.stringify(JSON.parse(stored)))),
      new Set([null, '{"trace":"1"}']),
    )
  })

  it('refuses a payload of another type, and text that is no JSON', async (t) => {
    const { store, pool, schema } = await newStore(t)
    const write = `select "${schema}".outbox_event_write('E'`
    await rejects(pool.query(`${write}, 5)`), { code: '22023', message: /json, jsonb or text.*integer/ })
    await rejects(pool.query(`${write}, row(1, 2))`), { code: '22023', hint: /to_json/ })
    await rejects(pool.query(`${write}, '{')`), { code: '22P02' })
    await rejects(pool.query(`${write}, '1', headers => 'no')`), { code: '22023' })
    equal(await store.people.count({}), 0)
  })

  it('needs the right to call it and no other, which nobody has unless it was granted', async (t) => {
    const { store, pool, schema, newPool } = await newStore(t)
    const role = await newRole(t, pool, `${schema}_caller`)
    await pool.query(`grant usage on schema "${schema}" to ${role}`)
    const caller = newPool({ user: role })
    const write = `select "${schema}".outbox_event_write('E', '1', idempotency_key => 'k')`
    await rejects(caller.query(write), { code: '42501', message: /permission denied for function/ })
    await pool.query(`grant execute on function "${schema}".outbox_event_write to ${role}`)
    await caller.query(write)
    await caller.query(write)

    equal(await store.people.count({}), 1)
    await rejects(caller.query(`select from "${schema}".outbox_event`), { code: '42501' })
    // A schema that is brought in again takes no right away.
    await pool.query(store.schemaSql())
    await caller.query(write)
  })

  it('runs nothing of its caller with the rights of its owner', async (t) => {
    const { store, pool, schema, newPool } = await newStore(t)
    const role = await newRole(t, pool, `${schema}_attacker`)
    await pool.query(`
      create schema "${schema}_own" authorization ${role};
      alter role ${role} set search_path = "${schema}_own", pg_catalog;
      grant usage on schema "${schema}" to ${role};
      grant execute on function "${schema}".outbox_event_write to ${role}`)
    const attacker = newPool({ user: role, max: 1 })
    // Casts, tables and functions of the caller's own that the function could mistake for others.
    await attacker.query(`
      create table who (name text);
      create type bait as (payload text);
      create function as_text(bait) returns text language plpgsql as
        $$ begin insert into "${schema}_own".who values (current_user); return '1'; end $$;
      create cast (bait as text) with function as_text(bait) as implicit;
      create domain json_text as text check (value <> '');
      create function char_length(text) returns integer language plpgsql as
        $$ begin insert into "${schema}_own".who values (current_user); return 1; end $$;
      create function pg_notify(text, text) returns void language plpgsql as
        $$ begin insert into "${schema}_own".who values (current_user); end $$`)
    const write = `select "${schema}".outbox_event_write('E'`
    await rejects(attacker.query(`${write}, row('1')::bait)`), { code: '22023' })
    await rejects(attacker.query(`${write}, '1'::json_text)`), { code: '22023' })
    await attacker.query(`create temporary table outbox_event (event_id text); ${write}, '1')`)

    deepEqual((await pool.query(`select name from "${schema}_own".who`)).rows, [])
    equal(await store.people.count({}), 1)
  })
})

interface Place {
  readonly store: PgStore
  readonly pool: pg.Pool
  readonly schema: string
}

async function call({ pool, schema }: Place, fields: Fields): Promise<string> {
  const given = Object.entries(fields) as [keyof Fields, unknown][]
  const parameters = given.map(([name], index) => `${names[name]} => $${index + 1}`)
  // Required ones that are missing are null.
  for (const name of ['eventType', 'payloadJson'] as const) {
    if (!(name in fields)) parameters.push(`${names[name]} => null`)
  }
  const { rows } = await pool.query<{ id: string }>(
    `select "${schema}".outbox_event_write(${parameters.join(', ')}) as id`,
    given.map(([name, value]) => sqlValue(name, value)),
  )
  return rows[0]!.id
}

function sqlValue(name: keyof Fields, value: unknown): unknown {
  if (name === 'deliverAfterMs') return `${String(value)} milliseconds`
  return name === 'headers' ? JSON.stringify(value) : value
}

async function written(place: Place, fields: Fields): Promise<StoredRow> {
  const eventId = await call(place, fields)
  const [row] = await place.store.people.query({ eventId, limit: 1 })
  return row!
}

function timeOf(ulid: string): number {
  const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
  return Array.from(ulid.slice(0, 10)).reduce((time, digit) => time * 32 + alphabet.indexOf(digit), 0)
}
