import pg from 'pg'
import type { BenchDatabases, StartWorker, Subject, Suite } from '../../store-bench.ts'
import { type Backlog, type Drain, drainSubject, sendoffBacklog, writeEvents } from '../../suites/drain.ts'
import { type Mode, sendoffWorker } from '../../suites/sendoff-outbox.ts'
import { databaseUrl, serverCpuUs, sharedPrefix, tidy, withClient } from './postgres-server.ts'
import { addStandingRows, type StandingRows, standingType } from './standing-rows.ts'

/** A table that is not as empty as that of a drain. */
interface Growth {
  /** Rows that are in it beside those to be delivered. */
  readonly standing?: StandingRows
  /** A database with DONE rows that all rounds share, because it takes long to make. Its own grow along. */
  readonly shared?: string
  /** Another session has a snapshot open meanwhile, as a backup does: dead rows then cannot be removed. */
  readonly snapshot?: true
}

const million = `${sharedPrefix}1m`
const fiveMillion = `${sharedPrefix}5m`
const sharedTables: Readonly<Record<string, StandingRows>> = {
  [million]: { done: 1_000_000 },
  [fiveMillion]: { done: 5_000_000 },
}

const growths: Readonly<Record<string, Growth>> = {
  '1m-done': { shared: million },
  '5m-done': { shared: fiveMillion },
  snapshot: { snapshot: true },
  '1m-done-snapshot': { shared: million, snapshot: true },
  waiting: { standing: { delayed: 100_000, backoff: 100_000 } },
  leased: { standing: { leased: 10_000 } },
}

/** How fast Sendoff drains tables in which other rows stand, compared with an empty one. */
export function growthSuite<Tx>(databases: BenchDatabases<Tx>): Suite {
  const name = 'sendoff-multi-node'
  const empty = drainSubject({
    name,
    backlog: sendoffBacklog(databases),
    worker: sendoffWorker(databases, 'multiNode'),
  })
  const grown = Object.entries(growths).map(([suffix, growth]) =>
    growthSubject(databases, { name: `${name}-${suffix}`, mode: 'multiNode' }, growth),
  )
  return {
    subjects: [empty, ...grown],
    limit: name,

    async prepare(conditions) {
      for (const [shared, rows] of Object.entries(sharedTables)) {
        const database = await databases.create(shared, conditions)
        await withClient(databaseUrl(shared, conditions), (client) =>
          addStandingRows(client, rows, conditions.scale),
        )
        await database.tidy?.()
        await database.close()
      }
    },
  }
}

function growthSubject<Tx>(
  databases: BenchDatabases<Tx>,
  { mode, ...subject }: Pick<Drain, 'name' | 'ownLimit'> & { readonly mode: Mode },
  { standing, shared, snapshot }: Growth,
): Subject {
  const emptyBacklog = sendoffBacklog(databases)
  // Warming up needs no grown table.
  const databaseOf = (name: string) => (name === 'drain' && shared !== undefined ? shared : name)
  let snapshotHolder: pg.Client | undefined

  const backlog: Backlog = {
    serverCpuUs,
    async fill(name, count, conditions) {
      if (name === 'warm-up') return emptyBacklog.fill(name, count, conditions)

      const url = databaseUrl(databaseOf(name), conditions)
      const database = await databases[shared === undefined ? 'create' : 'open'](databaseOf(name), conditions)
      if (standing !== undefined) {
        await withClient(url, (client) => addStandingRows(client, standing, conditions.scale))
      }
      await writeEvents(database, count)
      await database.close()
      await tidy(url)
      if (snapshot) snapshotHolder = await holdSnapshot(url)
    },

    async left(name, conditions) {
      await snapshotHolder?.end()
      return withClient(databaseUrl(databaseOf(name), conditions), async (client) => {
        const { rows } = await client.query<{ count: string }>(
          'select count(*) from outbox_event where status <> 1 and event_type <> $1',
          [standingType],
        )
        return Number(rows[0]!.count)
      })
    },
  }
  const startWorker = sendoffWorker(databases, mode)
  const worker: StartWorker = (name, ...rest) => startWorker(databaseOf(name), ...rest)
  return drainSubject({ ...subject, backlog, worker })
}

async function holdSnapshot(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('begin isolation level repeatable read')
  await client.query('select count(*) from orders')
  return client
}
