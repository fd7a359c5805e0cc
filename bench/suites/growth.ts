import type { BenchDatabases, Conditions, StartWorker, Subject, Suite } from '../store-bench.ts'
import { sharedPrefix } from '../stores/sql/database-name.ts'
import type { StandingRows } from '../stores/sql/standing-rows.ts'
import { type Backlog, drainSubject, sendoffBacklog, writeEvents } from './drain.ts'
import { sendoffWorker } from './sendoff-outbox.ts'

/** What a server can do beside what every drain needs. */
export interface GrownTables {
  /** Adds rows to a database: a share of each full number. */
  addStandingRows(database: string, rows: StandingRows, conditions: Conditions): Promise<void>
  /** Opens a snapshot in another session, as a backup does. */
  holdSnapshot(database: string, conditions: Conditions): Promise<{ end(): Promise<void> }>
}

/** A table that is not as empty as that of a drain. */
interface Growth {
  /** Rows in the table beside those to be delivered. */
  readonly standing?: StandingRows
  /**
   * A database with DONE rows that all rounds share, because it takes long to create. Rounds add their own
   * rows to it.
   */
  readonly shared?: string
  /** Another session holds a snapshot meanwhile: the server then cannot remove old versions of rows. */
  readonly snapshot?: true
}

const million = `${sharedPrefix}1m`
const fiveMillion = `${sharedPrefix}5m`
const sharedTables: Readonly<Record<string, StandingRows>> = {
  [million]: { done: 1_000_000 },
  [fiveMillion]: { done: 5_000_000 },
}

const growths = {
  '1m-done': { shared: million },
  '5m-done': { shared: fiveMillion },
  snapshot: { snapshot: true },
  '1m-done-snapshot': { shared: million, snapshot: true },
  waiting: { standing: { delayed: 100_000, backoff: 100_000 } },
  leased: { standing: { leased: 10_000 } },
} as const satisfies Record<string, Growth>

export type GrowthName = keyof typeof growths

export const growthNames = Object.keys(growths) as GrowthName[]

/** Measures how fast Sendoff drains tables with other rows, compared with an empty one. */
export function growthSuite<Tx>(
  databases: BenchDatabases<Tx>,
  tables: GrownTables,
  names: readonly GrowthName[] = growthNames,
): Suite {
  const name = 'sendoff-multi-node'
  const empty = drainSubject({
    name,
    backlog: sendoffBacklog(databases),
    worker: sendoffWorker(databases, 'multiNode'),
  })
  const chosen = names.map((suffix): [string, Growth] => [suffix, growths[suffix]])
  const shared = new Set(chosen.flatMap(([, growth]) => growth.shared ?? []))
  return {
    subjects: [
      empty,
      ...chosen.map(([suffix, growth]) => growthSubject(databases, tables, `${name}-${suffix}`, growth)),
    ],
    limit: name,

    async prepare(conditions) {
      for (const each of shared) {
        const database = await databases.create(each, conditions)
        await tables.addStandingRows(each, sharedTables[each]!, conditions)
        await database.tidy?.()
        await database.close()
      }
    },
  }
}

function growthSubject<Tx>(
  databases: BenchDatabases<Tx>,
  tables: GrownTables,
  name: string,
  { standing, shared, snapshot }: Growth,
): Subject {
  const emptyBacklog = sendoffBacklog(databases)
  // The warm-up needs no grown table.
  const databaseOf = (given: string) => (given === 'drain' && shared !== undefined ? shared : given)
  let heldSnapshot: { end(): Promise<void> } | undefined

  const backlog: Backlog = {
    ...emptyBacklog,
    async fill(given, count, conditions) {
      if (given !== 'drain') return emptyBacklog.fill(given, count, conditions)

      const each = databaseOf(given)
      const database = await databases[shared === undefined ? 'create' : 'open'](each, conditions)
      if (standing !== undefined) await tables.addStandingRows(each, standing, conditions)
      await writeEvents(database, count)
      await database.tidy?.()
      await database.close()
      if (snapshot) heldSnapshot = await tables.holdSnapshot(each, conditions)
    },

    async left(given, conditions) {
      await heldSnapshot?.end()
      return emptyBacklog.left(databaseOf(given), conditions)
    },
  }
  const startWorker = sendoffWorker(databases, 'multiNode')
  const worker: StartWorker = (given, ...rest) => startWorker(databaseOf(given), ...rest)
  return drainSubject({ name, backlog, worker })
}
