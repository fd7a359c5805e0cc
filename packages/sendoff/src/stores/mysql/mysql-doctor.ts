import { durationText } from '../../duration-text.ts'
import type { DoctorRequest, Finding } from '../../store/index.ts'
import { ifPermitted, isCurrentSchema, schemaFindings } from '../schema-findings.ts'
import { connectionFindings } from '../sql/connection-findings.ts'
import { type ExpectedIndex, indexFindings, withoutDestinationIndex } from '../sql/index-findings.ts'
import type { StoreDriver } from './drivers/mysql-driver.ts'
import { isNotPermitted, serverErrorOf } from './mysql-errors.ts'
import { destinationIndexes, hasRouting } from './schema/destination-indexes.ts'
import { migrationsFor, placeOf, schemaSql, storedSchema } from './schema/migrations.ts'
import type { MysqlTables } from './schema/mysql-tables.ts'
import {
  readConnections,
  readEngine,
  readIndexColumns,
  readOldestTransaction,
  readVariables,
} from './sql/doctor-statements.ts'

/** Examines a MySQL or MariaDB store. */
export async function examine(
  driver: StoreDriver,
  tables: MysqlTables,
  { longTransactionMs }: DoctorRequest,
): Promise<readonly Finding[]> {
  const schema = await schemaFindings({
    place: placeOf(tables),
    read: () => storedSchema(driver, tables),
    isNotPermitted,
    sqlFrom: (revision) => schemaSql(tables, { from: revision }),
  })
  const isComplete = isCurrentSchema(schema)
  const variables = new Map(
    (await driver.run(readVariables)).rows.map(([name, value]) => [name, String(value)]),
  )
  return [
    ...schema,
    ...(isComplete ? await tableFindings(driver, tables) : []),
    ...settingFindings(variables as ReadonlyMap<string, string>),
    ...connectionFindings(
      Number((await driver.run(readConnections)).rows[0]?.[1] ?? 0),
      Number(variables.get('max_connections')),
    ),
    ...(await ifPermitted('the transactions of the server (PROCESS)', needsRight, async () => {
      const { rows } = await driver.run(readOldestTransaction, [Math.ceil(longTransactionMs / 1_000)])
      return rows.map(([thread, seconds]) => horizonHeld(Number(thread), Number(seconds)))
    })),
  ]
}

// 1227: a right for the whole server is missing.
function needsRight(error: unknown): boolean {
  return isNotPermitted(error) || serverErrorOf(error)?.errno === 1227
}

function settingFindings(variables: ReadonlyMap<string, string>): readonly Finding[] {
  const findings: Finding[] = [...versionFindings(variables.get('version') ?? '')]
  const flush = variables.get('innodb_flush_log_at_trx_commit')
  if (flush !== undefined && flush !== '1') {
    findings.push({
      code: 'DURABILITY_REDUCED',
      severity: 'warning',
      message: `The server runs with innodb_flush_log_at_trx_commit = ${flush}: a crash loses the commits of the last second, events included.`,
      fix: 'Set it to 1.',
      sql: 'set global innodb_flush_log_at_trx_commit = 1;',
    })
  }
  if (variables.get('innodb_doublewrite') === 'OFF') {
    findings.push({
      code: 'DURABILITY_OFF',
      severity: 'error',
      message:
        'The server runs with innodb_doublewrite = OFF: when its machine goes down, half-written pages destroy tables.',
      fix: 'Set it to ON, unless the file system writes whole pages at once.',
    })
  }
  if (variables.get('log_bin') === 'ON' && variables.get('sync_binlog') !== '1') {
    findings.push({
      code: 'DURABILITY_REDUCED',
      severity: 'info',
      message:
        'The server runs with a binary log and sync_binlog other than 1: after a crash, replicas may lack the last events.',
      fix: 'Set it to 1 if a replica may take over.',
      sql: 'set global sync_binlog = 1;',
    })
  }
  const isolation = variables.get('transaction_isolation') ?? variables.get('tx_isolation')
  if (isolation === 'SERIALIZABLE') {
    findings.push({
      code: 'ISOLATION_TOO_HIGH',
      severity: 'warning',
      message:
        'Transactions run at SERIALIZABLE by default: every read takes locks, and writers wait for one another.',
      fix: 'Set the default to REPEATABLE READ or READ COMMITTED, and ask for a higher level where you need it.',
      sql: 'set global transaction isolation level repeatable read;',
    })
  }
  return findings
}

// The version of MariaDB may begin with 5.5.5-, for old replicas.
function versionFindings(version: string): readonly Finding[] {
  if (/tidb/i.test(version)) {
    return [
      {
        code: 'SKIP_LOCKED_IGNORED',
        severity: 'error',
        message:
          'The server is TiDB, which accepts SKIP LOCKED and ignores it: two workers claim the same event, and deliver it twice.',
        fix: 'Keep the outbox in MySQL or MariaDB, or let one process alone deliver (Outbox.singleNode).',
      },
    ]
  }
  const [, major = '0', minor = '0'] = /^(?:5\.5\.5-)?(\d+)\.(\d+)/.exec(version) ?? []
  const isMariadb = version.includes('MariaDB')
  const isOld = isMariadb
    ? Number(major) < 10 || (Number(major) === 10 && Number(minor) < 6)
    : Number(major) < 8
  if (!isOld) return []
  return [
    {
      code: 'SERVER_TOO_OLD',
      severity: 'error',
      message: `The server has version ${version}. Claims need SKIP LOCKED, which MySQL 8.0 and MariaDB 10.6 have.`,
      fix: 'Update the server.',
    },
  ]
}

function horizonHeld(thread: number, seconds: number): Finding {
  return {
    code: 'HORIZON_HELD',
    severity: 'warning',
    message: `A transaction of session ${thread} has been open for ${durationText(seconds * 1_000)}. InnoDB keeps all older versions of rows since, and claims get slower.`,
    fix: 'Find out what it waits for, and end it.',
    sql: `kill ${thread};`,
  }
}

async function tableFindings(driver: StoreDriver, tables: MysqlTables): Promise<readonly Finding[]> {
  const { database, events, table } = tables
  const engine = (await driver.run(readEngine, [database, table])).rows[0]?.[0] as string | null | undefined
  const wanted = [
    ...expectedIndexes(tables),
    ...((await hasRouting(driver, tables)) ? expectedOfDestinations(tables) : []),
  ]
  const owners = [...new Set(wanted.map((index) => index.table))]
  const { rows } = await driver.run(readIndexColumns(owners.length), [database, ...owners])
  const found = Map.groupBy(rows, ([name, index]) => `${String(name)}.${String(index)}`)
  const indexes = [...found.values()].map((columns) => ({
    table: String(columns[0]![0]),
    name: String(columns[0]![1]),
    columns: columns.map(([, , column]) => String(column)),
    isPartial: false,
    isValid: true,
  }))
  // A user without any right to a table sees none of its indexes.
  const visible = new Set(indexes.map((index) => index.table.toLowerCase()))
  const expected = wanted.filter((index) => visible.has(index.table.toLowerCase()))
  const rebuilt = ({ name, sql }: ExpectedIndex) =>
    `drop index \`${name}\` ${sql.slice(sql.indexOf(' on ') + 1, sql.indexOf(' ('))};\n${sql}`
  return [
    ...indexFindings(expected, indexes, rebuilt),
    ...(engine === undefined || engine === null || engine.toLowerCase() === 'innodb'
      ? []
      : [engineNotTransactional(events, engine)]),
  ]
}

function engineNotTransactional(events: string, engine: string): Finding {
  return {
    code: 'ENGINE_NOT_TRANSACTIONAL',
    severity: 'error',
    message: `Table ${events} has the engine ${engine}: a rolled-back transaction leaves its events behind, and claims lock the whole table.`,
    fix: 'Change its engine to InnoDB while nothing is written.',
    sql: `alter table ${events} engine = InnoDB;`,
  }
}

const tablePattern = /create table if not exists (\S+) \(/
const keyPattern = /^\s+(unique )?key (\w+) \(([^)]*)\)/gm

/** Reads the indexes from the statements that create their tables, and from later steps. */
function expectedIndexes(tables: MysqlTables): readonly ExpectedIndex[] {
  return migrationsFor(tables).flatMap(({ statements, online }) => [
    ...statements.flatMap((text) => {
      const owner = tablePattern.exec(text)?.[1]
      if (owner === undefined) return []
      return [...text.matchAll(keyPattern)].map(([, unique = '', name, columns]) =>
        indexOf(owner, name!, columns!, unique),
      )
    }),
    ...online.flatMap((step) =>
      step.kind === 'index' ? [indexOf(tables[step.table], step.name, step.columns)] : [],
    ),
  ])
}

function expectedOfDestinations(tables: MysqlTables): readonly ExpectedIndex[] {
  return destinationIndexes.map(({ table, name, columns }) => ({
    ...indexOf(tables[table], name, columns),
    without: withoutDestinationIndex,
  }))
}

function indexOf(owner: string, name: string, columns: string, unique = ''): ExpectedIndex {
  return {
    table: owner.split('.').at(-1)!.replaceAll('`', ''),
    name,
    columns: columns.split(',').map((column) => column.trim().replaceAll('`', '')),
    isPartial: false,
    sql: `create ${unique}index \`${name}\` on ${owner} (${columns});`,
  }
}
