import type { MysqlTables } from '../schema/mysql-tables.ts'
import { inMs } from './row-columns.ts'
import { ago, now, wholeNow } from './row-conditions.ts'

const counts = 'done, failed, dead, deferred, hot, listener_ms, listener_buckets, delivery_buckets'

/** The statements about reports and statistics, for checked names. They need revision 2 of the schema. */
export function reportStatementsFor({ node, stat }: MysqlTables) {
  const replaced = counts
    .split(', ')
    .map((column) => `${column} = values(${column})`)
    .join(', ')

  return {
    // ? report, ? id. By primary key.
    report: `
  update ${node}
     set report = ?, reported_at = ${wholeNow}
   where id = ? and \`until\` > ${now}`,

    // ? id. By primary key. Returns the time, and whether the process is registered.
    isLiving: `select ${inMs(now)}, exists (select 1 from ${node} where id = ? and \`until\` > ${now})`,

    // ? minute, ? node, ? event type, ? destination and the counts, for each. By primary key.
    addStatistics: (count: number) => `
  insert into ${stat} (\`minute\`, node, event_type, destination, ${counts})
  values ${Array.from({ length: count }, () => '(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)').join()}
      on duplicate key update ${replaced}`,

    // No parameters. Reads the table, which has a row for each process.
    livingNodes: `
  select id, mode, ${inMs('started_at')}, timestampdiff(microsecond, ${now}, \`until\`) / 1000, report,
         ${inMs('reported_at')}
    from ${node}
   where \`until\` > ${now}
   order by id`,

    // ago. By primary key, from its end.
    statistics: (limit: number) => `
  select ${inMs('\`minute\`')}, node, event_type, destination, ${counts}
    from ${stat}
   where \`minute\` >= ${ago}
   order by \`minute\` desc, node desc, event_type desc, destination desc
   limit ${limit}`,

    // ago. By primary key, from its beginning.
    forgetStatistics: (limit: number) => `
  delete from ${stat}
   where \`minute\` < ${ago}
   order by \`minute\`, node, event_type, destination
   limit ${limit}`,
  } as const
}
