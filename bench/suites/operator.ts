import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { serveDashboard } from '@sendoff/dashboard'
import { outboxAdmin } from 'sendoff/admin'
import { percentile } from '../statistics.ts'
import type { BenchDatabases, Conditions, Subject, Suite } from '../store-bench.ts'
import { sharedPrefix } from '../stores/sql/database-name.ts'
import type { AdminTables } from './admin.ts'

/** The address of a database, as the command line takes it. */
export type DatabaseAddress = (database: string, conditions: Conditions) => string

// That of `admin`, which a run of either suite may have kept.
const database = `${sharedPrefix}admin`
const program = join(import.meta.dirname, '../../packages/cli/dist/bin.cjs')

/** What an operator looks at in the dashboard, and how often it is measured. */
const pages: Readonly<
  Record<string, { readonly times: number; readonly isFirst?: true; readonly path: string }>
> = {
  'dashboard-first-view': { times: 20, isFirst: true, path: 'state' },
  'dashboard-list': { times: 100, path: 'events?limit=50' },
  'dashboard-list-dead': { times: 100, path: 'events?status=DEAD&limit=50' },
  'dashboard-search-type': { times: 100, path: 'events?eventType=Standing&limit=50' },
  'dashboard-search-missing-key': { times: 100, path: 'events?orderingKey=customer-17&limit=50' },
  'dashboard-search-missing-id': { times: 100, path: 'events?eventId=01M5X2V7Q8RJ3K4N5P6T7V8W9X&limit=50' },
  'dashboard-failures': { times: 20, path: 'failures' },
}

const commands: Readonly<Record<string, readonly string[]>> = {
  'command-help': ['--help'],
  'command-status': ['status'],
  'command-list': ['list', '--status', 'DEAD'],
}

/** Measures what a person waits for on a large table: pages of the dashboard by HTTP, and commands of the shell. */
export function operatorSuite<Tx>(
  databases: BenchDatabases<Tx>,
  tables: AdminTables,
  addressOf: DatabaseAddress,
): Suite {
  return {
    rounds: 1,
    subjects: [
      ...Object.entries(pages).map(([name, { times, path, isFirst }]): Subject => ({
        name,
        measure: async (conditions) => {
          const opened = await databases.open(database, conditions)
          const store = opened.openStore()
          try {
            const admins = { orders: outboxAdmin({ store }) }
            return await (isFirst ? firstViews(admins, times) : views(admins, path, times))
          } finally {
            await store.close()
            await opened.close()
          }
        },
      })),
      ...Object.entries(commands).map(([name, args]): Subject => ({
        name,
        measure: async (conditions) => calls([...args, '--url', addressOf(database, conditions)], 20),
      })),
    ],
    async prepare(conditions) {
      if (conditions.isKept && (await databases.exists?.(database, conditions))) return
      const created = await databases.create(database, conditions)
      await tables.addStandingRows(database, tables.rows, conditions)
      await created.tidy?.()
      await created.close()
    },
  }
}

type Admins = Parameters<typeof serveDashboard>[0]['admins']

/** The first view of a dashboard that has read nothing yet: the page, its files, and what the overview shows. */
async function firstViews(admins: Admins, times: number): Promise<{ p95Ms: number }> {
  const durations: number[] = []
  for (let run = 0; run < times; run++) {
    const served = await serveDashboard({ admins })
    const { url } = served
    durations.push(
      await timed(async () => {
        const html = await (await fetch(url)).text()
        const files = [...html.matchAll(/(?:src|href)="(assets\/[^"]+)"/g)].map(([, file]) => file)
        await Promise.all([...files, 'api/session'].map((file) => read(`${url}${file}`)))
        const parts = ['state', 'history'].map((part) => read(`${url}api/outboxes/orders/${part}`))
        await Promise.all(parts)
      }),
    )
    await served.close()
  }
  return { p95Ms: percentile(durations, 0.95) }
}

async function views(admins: Admins, path: string, times: number): Promise<{ p95Ms: number }> {
  const served = await serveDashboard({ admins })
  const view = () => read(`${served.url}api/outboxes/orders/${path}`)
  // The first calls open connections and prepare statements.
  for (let warmUp = 0; warmUp < 5; warmUp++) await view()
  const durations: number[] = []
  for (let run = 0; run < times; run++) durations.push(await timed(view))
  await served.close()
  return { p95Ms: percentile(durations, 0.95) }
}

async function read(url: string): Promise<void> {
  const response = await fetch(url)
  await response.arrayBuffer()
  if (!response.ok) throw new Error(`${url} returned ${response.status}.`)
}

async function calls(args: readonly string[], times: number): Promise<{ p95Ms: number }> {
  const call = () => promisify(execFile)(process.execPath, [program, ...args])
  // The first call leaves compiled code for the others.
  await call()
  const durations: number[] = []
  for (let run = 0; run < times; run++) durations.push(await timed(call))
  return { p95Ms: percentile(durations, 0.95) }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}
