import { placeholders } from './statement-values.ts'

/** The statements of the doctor. Each reads settings or catalogs of the server, and no event. */

/** Returns names and values of settings, as this session has them. */
export const readVariables = `
  show variables where variable_name in (
    'version', 'innodb_flush_log_at_trx_commit', 'innodb_doublewrite', 'log_bin', 'sync_binlog',
    'tx_isolation', 'transaction_isolation', 'max_connections')`

/** Returns how many connections are in use. */
export const readConnections = `show global status where variable_name = 'Threads_connected'`

/** ? database, ? names of tables. Returns the columns of every index of these tables, in order. */
export const readIndexColumns = (tables: number) => `
  select table_name, index_name, column_name
    from information_schema.statistics
   where table_schema = coalesce(?, database()) and table_name in (${placeholders(tables)})
   order by table_name, index_name, seq_in_index`

/** ? database, ? table. Returns the engine of the table. */
export const readEngine = `
  select engine
    from information_schema.tables
   where table_schema = coalesce(?, database()) and table_name = ?`

/**
 * ? seconds. Returns the oldest transaction of another session. Needs the right PROCESS. InnoDB gives the
 * time of the machine, whatever the zone of the session is.
 */
export const readOldestTransaction = `
  select trx_mysql_thread_id, timestampdiff(second, trx_started, convert_tz(now(), @@session.time_zone, 'SYSTEM'))
    from information_schema.innodb_trx
   where trx_mysql_thread_id <> connection_id() and trx_mysql_thread_id <> 0
     and trx_started <= convert_tz(now(), @@session.time_zone, 'SYSTEM') - interval ? second
   order by trx_started
   limit 1`
