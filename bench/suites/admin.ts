import { outboxAdmin, type OutboxAdmin } from 'sendoff/admin'
import type { BenchDatabase, BenchDatabases, Conditions, Subject, Suite } from '../store-bench.ts'
import { percentile } from '../statistics.ts'
import { sharedPrefix } from '../stores/sql/database-name.ts'
import type { StandingRows } from '../stores/sql/standing-rows.ts'

/** What a store does beside what every suite needs. */
export interface AdminTables {
  /** How many rows stand in the table at full size. */
  readonly rows: StandingRows
  /** Adds rows to a database: a share of each full number. */
  addStandingRows(database: string, rows: StandingRows, conditions: Conditions): Promise<void>
  /** Gathers statistics now, while the table is empty, and keeps the server from doing so later. */
  freezeStatistics?(database: string, conditions: Conditions): Promise<void>
  /** All measurements share one database. Otherwise each makes its own. */
  readonly isShared: boolean
}

const pageSize = 50
const searchBudgetMs = 1_000

type Look = (admin: OutboxAdmin<unknown>) => Promise<() => Promise<unknown>>

/** Each look, prepared once and then repeated. */
const looks: Readonly<Record<string, Look>> = {
  overview: async (admin) => () => admin.overview(),
  'page-1': async (admin) => () => admin.browse({}, { limit: pageSize }),
  'page-100': async (admin) => hundredthPage(admin, {}),
  'dead-page-1': async (admin) => () => admin.browse({ status: 'DEAD' }, { limit: pageSize }),
  'dead-page-100': async (admin) => hundredthPage(admin, { status: 'DEAD' }),
  groups: async (admin) => () => admin.failures(),
  async event(admin) {
    const { events } = await admin.browse({ status: 'DEAD' }, { limit: 1 })
    return () => admin.event(events[0]!.eventId)
  },
  'text-search': async (admin) => () =>
    admin.browse({ text: 'in no payload' }, { limit: pageSize, budgetMs: searchBudgetMs }),
}

/** Measures what each look of an operator takes on a large table. */
export function adminSuite<Tx>(databases: BenchDatabases<Tx>, tables: AdminTables): Suite {
  const kinds = tables.freezeStatistics === undefined ? [''] : ['', '-stale']
  const subjects = kinds.flatMap((kind) =>
    Object.entries(looks).map(([name, look]): Subject => ({
      name: `${name}${kind}`,
      measure: async (conditions) => {
        const database = tables.isShared
          ? await databases.open(`${sharedPrefix}admin${kind}`, conditions)
          : await filled(databases, tables, 'admin', kind, conditions)
        try {
          return await measureLook(database, look, name === 'text-search' ? 5 : 40)
        } finally {
          await database.close()
        }
      },
    })),
  )
  return {
    subjects,
    rounds: 1,
    ...(tables.isShared && {
      async prepare(conditions) {
        for (const kind of kinds) {
          if (conditions.isKept && (await databases.exists?.(`${sharedPrefix}admin${kind}`, conditions)))
            continue
          const database = await filled(databases, tables, `${sharedPrefix}admin${kind}`, kind, conditions)
          await database.close()
        }
      },
    }),
  }
}

async function filled<Tx>(
  databases: BenchDatabases<Tx>,
  tables: AdminTables,
  name: string,
  kind: string,
  conditions: Conditions,
): Promise<BenchDatabase<Tx>> {
  const database = await databases.create(name, conditions)
  if (kind === '-stale') await tables.freezeStatistics!(name, conditions)
  await tables.addStandingRows(name, tables.rows, conditions)
  if (kind !== '-stale') await database.tidy?.()
  return database
}

async function measureLook<Tx>(
  database: BenchDatabase<Tx>,
  look: Look,
  times: number,
): Promise<{ p95Ms: number }> {
  const store = database.openStore()
  const repeat = await look(outboxAdmin({ store: store }))
  // The first calls open connections and prepare statements.
  for (let warmUp = 0; warmUp < Math.min(times, 6); warmUp++) await repeat()
  const durations: number[] = []
  for (let run = 0; run < times; run++) {
    const startedAt = performance.now()
    await repeat()
    durations.push(performance.now() - startedAt)
  }
  await store.close()
  return { p95Ms: percentile(durations, 0.95) }
}

async function hundredthPage(
  admin: OutboxAdmin<unknown>,
  filter: { readonly status?: 'DEAD' },
): Promise<() => Promise<unknown>> {
  let cursor: string | undefined
  for (let page = 1; page < 100; page++) {
    const next = (await admin.browse(filter, { limit: pageSize, ...(cursor && { cursor }) })).cursor
    if (next === undefined) break
    cursor = next
  }
  return () => admin.browse(filter, { limit: pageSize, ...(cursor && { cursor }) })
}
