import { durationText } from '../../duration-text.ts'
import { OutboxError } from '../../errors.ts'
import type { DoctorRequest, Finding } from '../../store/index.ts'
import { ifPermitted, isCurrentSchema, rightsMissing, schemaFindings } from '../schema-findings.ts'
import { connectionFindings } from '../sql/connection-findings.ts'
import {
  createdIndexes,
  type ExpectedIndex,
  indexFindings,
  withoutDestinationIndex,
} from '../sql/index-findings.ts'
import type { PostgresDriver, Value } from './drivers/postgres-driver.ts'
import { hiddenRows } from './hidden-rows.ts'
import { isNotPermitted } from './postgres-errors.ts'
import { destinationIndexes, hasRouting } from './schema/destination-indexes.ts'
import { migrationsFor, placeOf, plainIndex, schemaSql, storedSchema } from './schema/migrations.ts'
import type { PostgresTables } from './schema/postgres-tables.ts'
import {
  readHorizon,
  readIdleSlots,
  readIndexes,
  readSettings,
  readStorage,
} from './sql/doctor-statements.ts'
import { textArray } from './sql/statement-values.ts'

/** What the doctor of a PostgreSQL store examines. */
export interface PostgresPatient {
  readonly driver: PostgresDriver<object>
  readonly tables: PostgresTables
  readonly notify: boolean
  readonly prepare: boolean
}

/** Examines a PostgreSQL store. */
export async function examine(patient: PostgresPatient, request: DoctorRequest): Promise<readonly Finding[]> {
  const { driver, tables } = patient
  const hidden = await hiddenRows(driver, tables)
  const schema = await schemaFindings({
    place: placeOf(tables),
    read: () => storedSchema(driver, tables),
    isNotPermitted,
    sqlFrom: (revision) => schemaSql(tables, { from: revision }),
  }).catch((error: unknown) => {
    if (error instanceof OutboxError && error.code === 'OUTBOX_ROWS_HIDDEN') return hidden
    throw error
  })
  // PGlite is a library within this process. Its settings and sessions are no concern of an operator.
  const server = driver.multiProcess ? await serverFindings(patient, request) : []
  const isComplete = isCurrentSchema(schema)
  return [
    ...schema,
    ...(isComplete ? await indexesFound(patient, request) : []),
    ...(isComplete && driver.multiProcess ? await storageFindings(patient) : []),
    ...(schema === hidden ? [] : hidden),
    ...server,
    ...(driver.warnings ?? []),
  ]
}

async function serverFindings(
  patient: PostgresPatient,
  { longTransactionMs }: DoctorRequest,
): Promise<readonly Finding[]> {
  const { driver } = patient
  const [settings] = await driver.run({ text: readSettings })
  const canSeeOthers = settings!.at(-1) === 'true'
  return [
    ...settingFindings(settings!),
    ...(canSeeOthers ? [] : [cannotSeeSessions]),
    ...(await ifPermitted('the sessions of the server', isNotPermitted, async () =>
      (await driver.run({ text: readHorizon }, [String(Math.ceil(longTransactionMs))])).map(horizonHeld),
    )),
    ...(await ifPermitted('the replication slots of the server', isNotPermitted, async () =>
      (await driver.run({ text: readIdleSlots })).map(slotIdle),
    )),
    ...(await poolerFindings(patient)),
  ]
}

function settingFindings(settings: readonly Value[]): readonly Finding[] {
  const [version, fsync, fullPages, commit, autovacuum, isolation, allowed, used] = settings
  const findings: Finding[] = []
  if (Number(version) < 150_000) {
    findings.push({
      code: 'SERVER_TOO_OLD',
      severity: 'error',
      message: `The server is PostgreSQL ${Math.floor(Number(version) / 10_000)}, and sendoff needs version 15 or later.`,
      fix: 'Update the server.',
    })
  }
  for (const [name, value] of [
    ['fsync', fsync],
    ['full_page_writes', fullPages],
  ]) {
    if (value !== 'off') continue
    findings.push({
      code: 'DURABILITY_OFF',
      severity: 'error',
      message: `The server runs with ${name} = off: when its machine goes down, it loses events or the whole database.`,
      fix: `Set ${name} to on.`,
      sql: `alter system set ${name} = on;\nselect pg_reload_conf();`,
    })
  }
  if (commit === 'off') {
    findings.push({
      code: 'DURABILITY_REDUCED',
      severity: 'warning',
      message:
        'Sessions run with synchronous_commit = off: when the server crashes, it loses the last commits, events included.',
      fix: 'Set synchronous_commit to on for the users of the outbox.',
      sql: 'alter role current_user set synchronous_commit = on;',
    })
  }
  if (autovacuum === 'off') findings.push(autovacuumOff('the server', 'alter system set autovacuum = on;'))
  if (isolation !== 'read committed') {
    findings.push({
      code: 'ISOLATION_TOO_HIGH',
      severity: 'warning',
      message: `Transactions run at ${isolation} by default: claims and settlements of several workers collide, and are repeated.`,
      fix: 'Set default_transaction_isolation to read committed for the users of the outbox, and ask for a higher level where you need it.',
      sql: `alter role current_user set default_transaction_isolation = 'read committed';`,
    })
  }
  return [...findings, ...connectionFindings(Number(used), Number(allowed))]
}

const cannotSeeSessions = rightsMissing(
  'what sessions of other users do',
  'it is not a member of pg_read_all_stats',
  {
    fix: 'Grant it pg_read_all_stats, so that the doctor finds transactions that hold vacuum up.',
    sql: 'grant pg_read_all_stats to current_user;',
  },
)

function horizonHeld([pid, user, name, state, ageMs]: readonly Value[]): Finding {
  const who =
    pid === null
      ? `A prepared transaction ("${name}")`
      : `A transaction of session ${pid} ("${name}", ${state})`
  return {
    code: 'HORIZON_HELD',
    severity: 'warning',
    message: `${who} of user "${user}" has been open for ${durationText(Number(ageMs))}. Vacuum removes nothing that was delivered since, and claims get slower.`,
    fix: 'Find out what it waits for, and end it.',
    sql:
      pid === null
        ? `rollback prepared '${name!.replaceAll("'", "''")}';`
        : `select pg_terminate_backend(${pid});`,
  }
}

function slotIdle([name, bytes]: readonly Value[]): Finding {
  return {
    code: 'REPLICATION_SLOT_IDLE',
    severity: 'warning',
    message: `No process reads the replication slot "${name}". It keeps ${Math.round(Number(bytes) / 1_048_576)} MiB of log until the disk is full, and old rows with it.`,
    fix: 'Start its reader, or drop the slot.',
    sql: `select pg_drop_replication_slot('${name!.replaceAll("'", "''")}');`,
  }
}

async function poolerFindings({ driver, notify, prepare }: PostgresPatient): Promise<readonly Finding[]> {
  if ((!notify && !prepare) || !(await driver.isPooled?.())) return []
  const listen: Finding = {
    code: 'POOLER_WITH_LISTEN',
    severity: 'warning',
    message:
      'The connections go through a pooler, such as PgBouncer, and the store uses LISTEN. A pooler that shares connections between transactions loses the notifications, so events wait for the next poll.',
    fix: 'Set notify: false of postgresStore, or let the pooler keep a connection for each session.',
  }
  const prepared: Finding = {
    code: 'POOLER_WITH_PREPARED',
    severity: 'warning',
    message:
      'The connections go through a pooler, such as PgBouncer, and the store prepares statements. A pooler that shares connections between transactions fails them, unless it knows prepared statements (PgBouncer 1.21 with max_prepared_statements).',
    fix: 'Set prepare: false of postgresStore, and of postgres.js if you use it, or let the pooler keep prepared statements.',
  }
  return [...(notify ? [listen] : []), ...(prepare ? [prepared] : [])]
}

async function indexesFound(
  { driver, tables }: PostgresPatient,
  { bloatBytes }: DoctorRequest,
): Promise<readonly Finding[]> {
  const created = createdIndexes(migrationsFor(tables).flatMap(({ statements }) => statements))
  const ofDestinations = (await hasRouting(driver, tables))
    ? createdIndexes(destinationIndexes(tables).map((index) => plainIndex(tables, index)))
    : []
  const expected = [
    ...created,
    ...ofDestinations.map((index) => ({ ...index, without: withoutDestinationIndex })),
  ].map((index) => ({ ...index, sql: tables.partitionBy ? index.sql : concurrently(index) }))
  const names = [...new Set(expected.map(({ table }) => table))]
  const rows = await driver.run({ text: readIndexes }, [tables.schema, textArray(names)])
  const found = rows.map(([table, name, columns, isPartial, isValid, pages, entries]) => ({
    table: table!,
    name: name!,
    columns: columns!.split(','),
    isPartial: isPartial === 'true',
    isValid: isValid === 'true',
    pages: Number(pages),
    entries: Number(entries),
  }))
  const rebuilt = (index: ExpectedIndex) => `drop index "${tables.schema}"."${index.name}";\n${index.sql}`
  const bloated = found.filter(
    ({ isPartial, pages, entries }) =>
      isPartial && entries >= 0 && pages * pageBytes > bloatBytes && pages > 20 * pagesFor(entries),
  )
  return [
    ...indexFindings(expected, found, rebuilt),
    ...bloated.map(({ name, pages }): Finding => {
      const size = `${Math.round((pages * pageBytes) / 1_048_576)} MiB`
      return {
        code: 'INDEX_BLOATED',
        severity: 'warning',
        message: `Index "${name}" has ${size}, nearly all of it empty. Every claim reads through empty pages.`,
        fix: 'Build it anew while the outbox works.',
        sql: `reindex index concurrently "${tables.schema}"."${name}";`,
      }
    }),
  ]
}

const pageBytes = 8_192

/** About how many pages an index of pending rows needs. */
function pagesFor(entries: number): number {
  return 1 + (entries * 64) / pageBytes
}

function concurrently({ sql }: ExpectedIndex): string {
  return sql.replace('create index', 'create index concurrently')
}

async function storageFindings({ driver, tables }: PostgresPatient): Promise<readonly Finding[]> {
  const rows = await driver.run({ text: readStorage }, [tables.schema, tables.table])
  return rows.flatMap(([name, persistence, options, dead, live]): readonly Finding[] => {
    const table = `"${tables.schema}"."${name}"`
    const findings: Finding[] = []
    if (persistence === 'u') {
      findings.push({
        code: 'TABLE_UNLOGGED',
        severity: 'error',
        message: `Table ${table} is unlogged: a crash of the server empties it, and no replica has it.`,
        fix: 'Make it logged.',
        sql: `alter table ${table} set logged;`,
      })
    }
    if (options!.includes('autovacuum_enabled=false') || options!.includes('autovacuum_enabled=off')) {
      findings.push(autovacuumOff(`table ${table}`, `alter table ${table} reset (autovacuum_enabled);`))
    }
    // Vacuum begins at a tenth of this: see the storage parameters of the table.
    if (Number(dead) > 100_000 + Number(live) * 0.2) {
      findings.push({
        code: 'AUTOVACUUM_BEHIND',
        severity: 'warning',
        message: `Table ${table} has ${dead} dead versions of rows beside ${live} rows: vacuum does not keep up, and claims get slower.`,
        fix: 'Look for what holds vacuum up (HORIZON_HELD, REPLICATION_SLOT_IDLE), or give autovacuum more workers and a higher cost limit.',
        sql: `vacuum (analyze) ${table};`,
      })
    }
    return findings
  })
}

function autovacuumOff(where: string, sql: string): Finding {
  return {
    code: 'AUTOVACUUM_OFF',
    severity: 'warning',
    message: `Autovacuum is off for ${where}. Every delivery leaves dead versions of rows behind, and claims get slower.`,
    fix: 'Switch it on.',
    sql,
  }
}
