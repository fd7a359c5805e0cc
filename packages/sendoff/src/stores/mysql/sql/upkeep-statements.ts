import type { MysqlTables } from '../schema/mysql-tables.ts'
import { lockingRead } from './locking-read.ts'
import { inMs, storedColumns } from './row-columns.ts'
import { ago, now, pendingQueues, timeIn, wholeNow } from './row-conditions.ts'

/** Where an index can find the rows of a filter. */
export type RowSource = 'all' | 'event' | 'dead' | 'pending'

/** The statements for operators and schedulers, for checked names. */
export function upkeepStatementsFor(tables: MysqlTables) {
  const { events, meta, attempt, control, idempotency, node } = tables

  return {
    // The parameters of `matching`, for `pending` three times. Sorted in write order, which the index `event`
    // does not have.
    query: (source: RowSource, matching: string, limit: number) =>
      source === 'pending'
        ? `${pendingSources.map((each) => `(${query(each, matching, limit)})`).join(' union all ')}
   order by seq limit ${limit}`
        : query(sources[source], matching, limit),

    // The parameters of `matching`, for `pending` three times.
    count: (source: RowSource, matching: string) =>
      source === 'pending'
        ? `select ${pendingSources.map((each) => `(${count(each, matching)})`).join(' + ')}`
        : count(sources[source], matching),

    // ? event id, ? destination. By the index `event` of the history.
    attempts: `
  select attempts, ${inMs('failed_at')}, error, locked_by
    from ${attempt}
   where event_id = ? and destination = ?
   order by id`,

    // ago (a row below this age is young), ? seq to start behind. By primary key. Returns how many rows one
    // step of a purge reads, the last of them, and whether all are young.
    purgeWindow: (limit: number) => `
  select count(*), max(seq), min(created_at) >= ${ago}
    from (select seq, created_at from ${events} where seq > ? order by seq limit ${limit}) as seen`,

    // ? seq to start behind, ? last seq, the parameters of `outlived`. By primary key. Rows that another
    // transaction works on are left for the next time.
    outlivedRows: (outlived: string) =>
      lockingRead({
        columns: 'seq, event_id, destination',
        table: events,
        index: 'primary',
        key: 'seq',
        where: `seq > ? and seq <= ? and (${outlived})`,
        order: 'seq',
      }),

    // ago. The oldest by the index `at`. Without `skipsLocked`, locks nothing.
    outlivedKeys: (limit: number, skipsLocked: boolean) => `
  select \`key\`
    from ${idempotency} force index (at)
   where created_at < ${ago}
   order by created_at
   limit ${limit}${skipsLocked ? '\n     for update skip locked' : ''}`,

    // The parameters of `keys`, ago. By primary key, as forgetKeys, for keys that are not locked: another
    // purge may have deleted a key meanwhile, and a writer may have used it anew. The sum keeps the optimizer
    // from reading the index `at`, where it would lock other keys: a delete can name no index.
    forgetOldKeys: (keys: string, count: number) => `
  delete from ${idempotency}
   where ${keys} and created_at + interval 0 second < ${ago}
   order by \`key\`
   limit ${count}`,

    // ? kind, ? name. By primary key. A control that is set already stays as it is.
    setControl: `
  insert into ${control} (kind, name, updated_at)
  values (?, ?, ${wholeNow})
      on duplicate key update name = name`,

    // ? kind, ? name. By primary key.
    liftControl: `delete from ${control} where kind = ? and name = ?`,

    // No parameters. By primary key.
    controls: `
  select kind, name, value
    from ${control}
   where kind in ('pauseType', 'pauseDestination', 'mode', 'routing')
   order by kind, name`,

    // ? name of the version, ? content. By primary key.
    addRouting: `
  insert into ${control} (kind, name, value, updated_at)
  values ('routing', ?, ?, ${wholeNow})
      on duplicate key update name = name`,

    // ? name of the version. By primary key.
    forgetOldRouting: `delete from ${control} where kind = 'routing' and name < ?`,

    // ? revision, three times. By primary key. Shuts out older code. The first release reads only `version`.
    raiseOldestCode: `
  insert into ${meta} (\`key\`, value) values ('oldest_code', ?), ('version', ?)
      on duplicate key update value = greatest(cast(value as signed), cast(? as signed))`,

    // No parameters. By primary key. Returns the revision of the schema.
    schemaRevision: `select value from ${meta} where \`key\` = 'revision'`,

    // No parameters. By primary key.
    forgetMode: `delete from ${control} where kind = 'mode'`,

    // timeIn, ? id, ? mode. By primary key. A process that is registered with this mode keeps other modes
    // out.
    keepNode: `
  update ${node}
     set \`until\` = ${timeIn}
   where id = ? and mode <=> ? and \`until\` > ${now}`,

    // No parameters. By primary key. Until the end of the transaction no other process joins.
    lockNodes: `select value from ${meta} where \`key\` = 'version' for update`,

    // No parameters. Reads the table, which has a row for each process.
    forgetNodes: `delete from ${node} where \`until\` <= ${now}`,

    // ? id, ? mode. Reads the table. Returns living processes with another mode; none if the mode is null.
    nodesOfOtherMode: `select id, mode from ${node} where id <> ? and mode <> ? order by id`,

    // ? id, ? mode, timeIn, ? mode, timeIn. By primary key.
    joinNode: `
  insert into ${node} (id, mode, started_at, \`until\`)
  values (?, ?, ${wholeNow}, ${timeIn})
      on duplicate key update mode = ?, \`until\` = ${timeIn}`,

    // ? id. By primary key.
    leaveNode: `delete from ${node} where id = ?`,
  } as const

  function query({ index, condition }: Source, matching: string, limit: number): string {
    return `
  select ${storedColumns}
    from ${events} as event force index (${index})
   where ${condition} ${matching}
   order by seq
   limit ${limit}`
  }

  function count({ index, condition }: Source, matching: string): string {
    return `select count(*) from ${events} as event force index (${index}) where ${condition} ${matching}`
  }
}

interface Source {
  readonly index: string
  readonly condition: string
}

const sources = {
  all: { index: 'primary', condition: '' },
  event: { index: 'event', condition: '' },
  dead: { index: 'queue', condition: 'queue = 1 and' },
} as const

const pendingSources: readonly Source[] = pendingQueues.map((queue) => ({
  index: 'queue',
  condition: `queue = ${queue} and`,
}))
