import { deepEqual, doesNotMatch, equal, match } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { Outbox } from 'sendoff'
import { outboxAdmin, type Overview } from 'sendoff/admin'
import { sendoff, sendoffJson } from '../run-sendoff.ts'
import { fill, type TestedOutbox, withWorker, writePending } from '../tested-outbox.ts'

/** A database that the commands are tried on. */
export interface TestedDatabase {
  readonly name: string
  /** Returns an outbox whose tables do not exist yet. */
  newOutbox(test: TestContext): Promise<TestedOutbox>
  /** Creates its tables, divided by day; left out if the database cannot do that. */
  readonly migrateByDay?: (outbox: TestedOutbox) => Promise<void>
  readonly hasKeys: boolean
  readonly hasSql: boolean
}

interface Event {
  readonly eventId: string
  readonly eventType: string
  readonly state: string
  readonly lastError: string | null
}

/** Tests every command on a database, by the program as it is built. */
export function testCommands(database: TestedDatabase): void {
  const newOutbox = async (test: TestContext): Promise<TestedOutbox> => {
    const outbox = await database.newOutbox(test)
    const store = await outbox.open()
    await store.migrate()
    await store.close()
    return outbox
  }

  describe(`the commands on ${database.name}`, { concurrency: 3 }, () => {
    it('migrate creates the schema, and --check says whether it is there', async (test) => {
      const outbox = await database.newOutbox(test)
      const before = await sendoff(['migrate', '--check', ...outbox.args])
      equal(before.code, 4, before.stderr)
      match(before.stdout, /SCHEMA_MISSING/)
      equal((await sendoff(['migrate', ...outbox.args])).code, 0)
      equal((await sendoff(['migrate', ...outbox.args])).code, 0)
      deepEqual(await sendoffJson(['migrate', '--check', ...outbox.args]), { isCurrent: true, findings: [] })
    })

    it('migrate --sql prints what migrate does', async (test) => {
      const { args, table } = await database.newOutbox(test)
      const { code, stdout, stderr } = await sendoff(['migrate', '--sql', ...args])
      if (!database.hasSql) {
        equal(code, 2)
        return match(stderr, /has no schema in SQL/)
      }
      equal(code, 0, stderr)
      match(stdout, new RegExp(`create table if not exists \\S*${table}`, 'i'))
    })

    it('a table that is divided by time is known as such', async (test) => {
      const { migrateByDay } = database
      if (migrateByDay === undefined) return test.skip('its tables cannot be divided by time')
      const outbox = await database.newOutbox(test)
      await migrateByDay(outbox)
      await fill(outbox, { dead: 2, done: 1 })
      const { counts } = await sendoffJson<StatusJson>(['status', ...outbox.args])
      deepEqual([counts.DEAD.count, counts.DONE.count], [2, 1])
      const replayed = await sendoff(['replay', '--all', '--yes', ...outbox.args])
      equal(replayed.code, 0, replayed.stderr)
      deepEqual(await sendoffJson(['migrate', '--check', ...outbox.args]), { isCurrent: true, findings: [] })
    })

    it('status counts events, and names the types that fail', async (test) => {
      const outbox = await newOutbox(test)
      await fill(outbox, { dead: 2, done: 3 })
      await writePending(outbox, 'OrderSent', 4)
      const status = await sendoffJson<StatusJson>(['status', ...outbox.args])

      const { PENDING, DEAD, DONE } = status.counts
      deepEqual([PENDING.count, DEAD.count, DONE.count], [4, 2, 3])
      deepEqual(
        status.destinations.map(({ destination, dead, errors }) => [
          destination,
          dead.count,
          errors[0]?.errorClass,
        ]),
        [['', 2, 'TimeoutError']],
      )
      const { code, stdout } = await sendoff(['status', ...outbox.args])
      equal(code, 0)
      match(stdout, /pending 4 .* dead 2 .* done 3/)
      match(stdout, /Events are due, and no process delivers\./)
      match(stdout, /TimeoutError 2/)
    })

    it('list, show and failures lead from a state to the cause', async (test) => {
      const outbox = await newOutbox(test)
      await fill(outbox, { dead: 3, done: 1 })
      const first = await sendoffJson<{ events: Event[]; cursor: string }>([
        ...['list', '--status', 'DEAD', '--limit', '2', ...outbox.args],
      ])
      const second = await sendoffJson<{ events: Event[]; cursor: null }>([
        ...['list', '--status', 'DEAD', '--limit', '2', '--cursor', first.cursor, ...outbox.args],
      ])
      const dead = [...first.events, ...second.events]
      deepEqual([dead.length, second.cursor, new Set(dead.map(({ eventId }) => eventId)).size], [3, null, 3])

      const id = dead[0]!.eventId
      const shown = await sendoffJson<{ event: Event & { payload: string }; attempts: { error: string }[] }>([
        ...['show', id, ...outbox.args],
      ])
      deepEqual(
        [shown.event.state, JSON.parse(shown.event.payload), shown.attempts.length],
        ['DEAD', { orderId: 'o-2' }, 1],
      )
      match(shown.attempts[0]!.error, /TimeoutError: the carrier is away/)
      match((await sendoff(['show', id, ...outbox.args])).stdout, /"orderId": "o-2"/)
      match((await sendoff(['list', ...outbox.args])).stdout, new RegExp(`DEAD +OrderPlaced .*${id}`))

      const { groups } = await sendoffJson<{ groups: { errorClass: string; count: number }[] }>([
        ...['failures', ...outbox.args],
      ])
      deepEqual(
        groups.map(({ errorClass, count }) => [errorClass, count]),
        [['TimeoutError', 3]],
      )
      const gone = await sendoff(['show', '01ARZ3NDEKTSV4RRFFQ69G5FAV', ...outbox.args])
      equal(gone.code, 4)
      match(gone.stderr, /There is no event 01ARZ3NDEKTSV4RRFFQ69G5FAV/)
    })

    it('replay previews, does nothing in a dry run, acts with --yes, and stands in the audit', async (test) => {
      const outbox = await newOutbox(test)
      await fill(outbox, { dead: 3, done: 0 })
      const dry = await sendoffJson<PlanJson>([
        'replay',
        '--type',
        'OrderPlaced',
        '--dry-run',
        ...outbox.args,
      ])
      deepEqual([dry.plan.count, dry.plan.sample.length, dry.result], [3, 3, null])
      equal(await countOf(outbox, 'DEAD'), 3)

      const asked = await sendoff(['replay', '--type', 'OrderPlaced', ...outbox.args])
      equal(asked.code, 5)
      match(asked.stderr, /no terminal to ask on. Pass --yes/)
      match(asked.stdout, /3 events match/)
      equal(await countOf(outbox, 'DEAD'), 3)

      const done = await sendoff(['replay', '--type', 'OrderPlaced', '--yes', '--as', 'ann', ...outbox.args])
      equal(done.code, 0, done.stderr)
      match(done.stdout, /3 replayed in .* Recorded as plan \d+/)
      deepEqual([await countOf(outbox, 'DEAD'), await countOf(outbox, 'NEW')], [0, 3])

      const { entries } = await sendoffJson<{ entries: AuditJson[] }>(['audit', ...outbox.args])
      deepEqual(
        entries.map(({ actor, action, state, affected }) => [actor, action, state, affected]),
        [['ann', 'replay', 'done', 3]],
      )
      const again = await sendoff(['replay', '--plan', entries[0]!.id, ...outbox.args])
      equal(again.code, 2)
      match(again.stderr, /is done/)
    })

    it('cancel and purge act on what they match, and on nothing else', async (test) => {
      const outbox = await newOutbox(test)
      await fill(outbox, { dead: 1, done: 2 })
      const [id] = await writePending(outbox, 'OrderSent', 2)
      const one = await sendoffJson<PlanJson>([
        'cancel',
        id!,
        '--reason',
        'No more.',
        '--yes',
        ...outbox.args,
      ])
      equal(one.result?.acted, 1)
      const { event } = await sendoffJson<{ event: Event }>(['show', id!, ...outbox.args])
      deepEqual([event.state, event.lastError], ['DEAD', 'No more.'])

      const purged = await sendoffJson<PlanJson>([
        'purge',
        '--status',
        'DONE',
        '--all',
        '--yes',
        ...outbox.args,
      ])
      equal(purged.result?.acted, 2)
      deepEqual(
        [await countOf(outbox, 'DONE'), await countOf(outbox, 'DEAD'), await countOf(outbox, 'PENDING')],
        [0, 2, 1],
      )
      const none = await sendoff(['purge', '--status', 'DONE', '--all', '--yes', ...outbox.args])
      deepEqual([none.code, none.stdout], [0, 'No event matches.\n'])
    })

    it('pause and resume are seen by every process', async (test) => {
      const outbox = await newOutbox(test)
      equal((await sendoff(['pause', '--type', 'OrderPaid', ...outbox.args])).code, 0)
      match((await sendoff(['pause', ...outbox.args])).stdout, /^type OrderPaid$/m)
      match((await sendoff(['status', ...outbox.args])).stdout, /paused: type OrderPaid/)
      deepEqual(await sendoffJson(['resume', '--type', 'OrderPaid', ...outbox.args]), { paused: [] })
    })

    it('nodes lists a living process, and doctor misses one that should be there', async (test) => {
      const outbox = await newOutbox(test)
      await withWorker(outbox, async () => {
        const { nodes } = await sendoffJson<{ nodes: { mode: string }[] }>(['nodes', ...outbox.args])
        deepEqual(
          nodes.map(({ mode }) => mode),
          ['multiNode'],
        )
        doesNotMatch((await sendoff(['doctor', ...outbox.args])).stdout, /NO_WORKER/)
      })
      await writePending(outbox, 'OrderPaid', 1)
      const { code, stdout } = await sendoff(['doctor', '--json', ...outbox.args])
      equal(code, 4)
      const { findings } = JSON.parse(stdout) as { findings: { code: string; severity: string }[] }
      equal(findings.find((finding) => finding.code === 'NO_WORKER')?.severity, 'error')
    })

    it('keys lists parked keys, and says so where there are none', async (test) => {
      const outbox = await newOutbox(test)
      const parked = await sendoff(['keys', 'park', 'customer-17', ...outbox.args])
      if (!database.hasKeys) {
        equal(parked.code, 1)
        return match(parked.stderr, /OUTBOX_STORE_CANNOT/)
      }
      equal(parked.code, 0, parked.stderr)
      match((await sendoff(['keys', ...outbox.args])).stdout, /customer-17 +parked/)
      equal((await sendoff(['keys', 'skip', 'customer-17', ...outbox.args])).code, 5)
      equal((await sendoff(['keys', 'skip', 'customer-17', '--yes', ...outbox.args])).code, 4)
      equal((await sendoff(['keys', 'retry', 'customer-17', ...outbox.args])).code, 4)
      equal((await sendoff(['keys', 'unpark', 'customer-17', ...outbox.args])).code, 0)
      deepEqual(await sendoffJson(['keys', ...outbox.args]), { keys: [] })
    })

    it('keys lists those of every destination, and says where to look for one', async (test) => {
      if (!database.hasKeys) return test.skip('it has no ordering keys')
      const outbox = await newOutbox(test)
      await writeRouted(outbox)
      await sendoffJson(['keys', 'park', 'customer-17', '--destination', 'mail', ...outbox.args])
      await sendoffJson(['keys', 'park', 'customer-18', ...outbox.args])
      const { keys } = await sendoffJson<{ keys: { orderingKey: string; destination: string }[] }>([
        ...['keys', ...outbox.args],
      ])
      deepEqual(keys.map(({ orderingKey, destination }) => [orderingKey, destination]).sort(), [
        ['customer-17', 'mail'],
        ['customer-18', ''],
      ])
      match((await sendoff(['keys', ...outbox.args])).stdout, /customer-17 +mail +parked/)
      deepEqual(await sendoffJson(['keys', '--destination', 'kafka', ...outbox.args]), { keys: [] })
      const lost = await sendoff(['keys', 'retry', 'customer-17', ...outbox.args])
      equal(lost.code, 4)
      match(lost.stderr, /add --destination/)
    })
  })
}

/** Writes an event of a key for two destinations. */
async function writeRouted(outbox: TestedOutbox): Promise<void> {
  const routing = { version: 1, destinations: { kafka: {}, mail: {} }, rules: [{ to: ['kafka', 'mail'] }] }
  const writer = Outbox.writerOnly<unknown>({ store: await outbox.open(), logger: false, routing })
  await writer.start()
  await writer.transaction(() => writer.write('OrderPlaced', {}, { orderingKey: 'customer-17' }))
  await writer.close()
}

interface StatusJson {
  readonly counts: Readonly<Record<string, { readonly count: number }>> & {
    readonly PENDING: { readonly count: number }
    readonly DEAD: { readonly count: number }
    readonly DONE: { readonly count: number }
  }
  readonly destinations: readonly {
    readonly destination: string
    readonly dead: { readonly count: number }
    readonly errors: readonly { readonly errorClass: string }[]
  }[]
}

interface PlanJson {
  readonly plan: { readonly count: number; readonly sample: readonly unknown[] }
  readonly result: { readonly acted: number; readonly state: string } | null
}

interface AuditJson {
  readonly id: string
  readonly actor: string
  readonly action: string
  readonly state: string
  readonly affected: number
}

async function countOf(outbox: TestedOutbox, state: keyof Overview['counts']): Promise<number> {
  const store = await outbox.open()
  try {
    const { counts } = await outboxAdmin({ store }).overview()
    return counts[state].count
  } finally {
    await store.close()
  }
}
