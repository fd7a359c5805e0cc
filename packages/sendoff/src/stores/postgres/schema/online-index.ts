import { setTimeout as sleep } from 'node:timers/promises'
import { hash } from 'node:crypto'
import { patiently } from '../../sql/patiently.ts'
import type { PostgresDriver } from '../drivers/postgres-driver.ts'
import { serverErrorOf } from '../postgres-errors.ts'
import type { PostgresTables } from './postgres-tables.ts'

/** An index that a migration builds while writers and workers use the table. */
export interface OnlineIndex {
  /** Its plain name. */
  readonly name: string
  /** The plain name of its table. */
  readonly table: string
  /** Its columns in parentheses, and its condition. */
  readonly on: string
}

/** How long a step waits for a lock. Later users of the table wait behind it meanwhile. */
export const lockTimeout = `set local lock_timeout = '500ms'`

const askEveryMs = 200

/**
 * Builds an index by CREATE INDEX CONCURRENTLY, outside any transaction. An index that a crash left INVALID
 * is dropped first. A table in time partitions gets the index part by part: PostgreSQL cannot build the index
 * of the whole table concurrently.
 */
export async function buildOnline<Tx extends object>(
  driver: PostgresDriver<Tx>,
  tables: PostgresTables,
  index: OnlineIndex,
): Promise<void> {
  if (!(await isPartitioned(driver, tables, index.table))) return buildOne(driver, tables, index)

  // A time partition that is attached from now on gets its part of the index with that.
  await patientSteps(driver, `create index "${index.name}" on "${index.table}"`, [
    `create index if not exists "${index.name}" on only "${tables.schema}"."${index.table}" ${index.on}`,
  ])
  for (;;) {
    const parts = await partsWithout(driver, tables, index)
    if (parts.length === 0) return
    for (const part of parts) {
      const name = nameOfPart(index.name, part)
      await buildOne(driver, tables, { name, table: part, on: index.on })
      await attach(driver, tables, index.name, name)
    }
  }
}

/** Runs statements in one transaction, again and again until no other transaction is in their way. */
export function patientSteps<Tx extends object>(
  driver: PostgresDriver<Tx>,
  what: string,
  statements: readonly string[],
): Promise<void> {
  return patiently({ what, isInTheWay }, () =>
    driver.transaction(async (tx) => {
      const session = driver.session(tx)
      await session.run({ text: lockTimeout })
      for (const text of statements) await session.run({ text })
    }),
  )
}

/** Whether a step failed because another transaction held a lock that it needs. */
export function isInTheWay(error: unknown): boolean {
  return inTheWay.has(serverErrorOf(error)?.code ?? '')
}

// Lock not available, deadlock.
const inTheWay: ReadonlySet<string> = new Set(['55P03', '40P01'])

// A time partition may be dropped while its index is built. The next look finds out.
async function attach<Tx extends object>(
  driver: PostgresDriver<Tx>,
  { schema }: PostgresTables,
  parent: string,
  name: string,
): Promise<void> {
  try {
    await patientSteps(driver, `attach index "${name}"`, [
      `alter index "${schema}"."${parent}" attach partition "${schema}"."${name}"`,
    ])
  } catch (error) {
    if (!isGone(error)) throw error
  }
}

async function buildOne<Tx extends object>(
  driver: PostgresDriver<Tx>,
  tables: PostgresTables,
  { name, table, on }: OnlineIndex,
): Promise<void> {
  const { schema } = tables
  for (;;) {
    const state = await stateOf(driver, tables, name)
    if (state === 'valid') return
    if (state === 'building') {
      // A session whose process was killed may still be at it, and may well finish.
      await sleep(askEveryMs)
      continue
    }
    if (state === 'invalid')
      await driver.run({ text: `drop index concurrently if exists "${schema}"."${name}"` })
    try {
      await driver.run({ text: `create index concurrently "${name}" on "${schema}"."${table}" ${on}` })
    } catch (error) {
      if (isGone(error)) return
      if (!isInTheWay(error) && !isThere(error)) throw error
    }
  }
}

// A table or schema that is gone, or an object that has vanished meanwhile.
function isGone(error: unknown): boolean {
  return ['42P01', '42704'].includes(serverErrorOf(error)?.code ?? '')
}

// Another session has made the index meanwhile.
function isThere(error: unknown): boolean {
  return ['42P07', '23505'].includes(serverErrorOf(error)?.code ?? '')
}

type IndexState = 'missing' | 'invalid' | 'building' | 'valid'

async function stateOf<Tx extends object>(
  driver: PostgresDriver<Tx>,
  { schema }: PostgresTables,
  name: string,
): Promise<IndexState> {
  // $1 schema, $2 index. A session that builds it holds a lock on the table that no worker takes.
  const text = `
  select indisvalid, exists (select from pg_locks
                              where locktype = 'relation' and relation = indrelid
                                and database = (select oid from pg_database where datname = current_database())
                                and mode = 'ShareUpdateExclusiveLock' and granted and pid <> pg_backend_pid()
                                and pid in (select pid from pg_stat_progress_create_index))
    from pg_index
    join pg_class on pg_class.oid = indexrelid
    join pg_namespace on pg_namespace.oid = relnamespace
   where nspname = $1 and relname = $2`
  const [row] = await driver.run({ text }, [schema, name])
  if (row === undefined) return 'missing'
  if (isTrue(row[0])) return 'valid'
  return isTrue(row[1]) ? 'building' : 'invalid'
}

async function isPartitioned<Tx extends object>(
  driver: PostgresDriver<Tx>,
  { schema }: PostgresTables,
  table: string,
): Promise<boolean> {
  // $1 schema, $2 table.
  const text = `
  select relkind = 'p'
    from pg_class join pg_namespace on pg_namespace.oid = relnamespace
   where nspname = $1 and relname = $2`
  const [row] = await driver.run({ text }, [schema, table])
  return isTrue(row?.[0])
}

// The time partitions to which no part of this index is attached.
async function partsWithout<Tx extends object>(
  driver: PostgresDriver<Tx>,
  { schema }: PostgresTables,
  { name, table }: OnlineIndex,
): Promise<readonly string[]> {
  // $1 schema, $2 table, $3 index.
  const text = `
  select part.relname
    from pg_inherits
    join pg_class as part on part.oid = inhrelid
    join pg_class as parent on parent.oid = inhparent
    join pg_namespace on pg_namespace.oid = parent.relnamespace
   where nspname = $1 and parent.relname = $2
     and not exists (select from pg_index as own
                       join pg_inherits as attached on attached.inhrelid = own.indexrelid
                       join pg_class as whole on whole.oid = attached.inhparent
                      where own.indrelid = part.oid and whole.relname = $3
                        and whole.relnamespace = parent.relnamespace)
   order by part.relname`
  return (await driver.run({ text }, [schema, table, name])).map(([part]) => part!)
}

// Within the 63 characters of PostgreSQL, and different for each part.
function nameOfPart(index: string, part: string): string {
  return `${index.slice(0, 50)}_${hash('sha256', `${index} ${part}`).slice(0, 12)}`
}

function isTrue(value: string | null | undefined): boolean {
  return value === 't' || value === 'true'
}
