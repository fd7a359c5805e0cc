import { deepEqual } from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { migrationsFor } from '../../../src/stores/mysql/schema/migrations.ts'
import { mysqlTables } from '../../../src/stores/mysql/schema/mysql-tables.ts'

/** The words that MySQL 9.7 reserves, as its `information_schema.keywords` says. */
const ofMysql = `
  accessible add all alter analyze and as asc asensitive before between bigint binary blob both by
  call cascade case change char character check collate column condition constraint continue convert
  create cross cube cume_dist current_date current_time current_timestamp current_user cursor database
  databases day_hour day_microsecond day_minute day_second dec decimal declare default delayed delete
  dense_rank desc describe deterministic distinct distinctrow div double drop dual each else elseif
  empty enclosed escaped except exists exit explain external false fetch first_value float float4
  float8 for force foreign from fulltext function generated get grant group grouping groups having
  high_priority hour_microsecond hour_minute hour_second if ignore in index infile inner inout
  insensitive insert int int1 int2 int3 int4 int8 integer intersect interval into io_after_gtids
  io_before_gtids is iterate join json_table key keys kill lag last_value lateral lead leading leave
  left library like limit linear lines load localtime localtimestamp lock long longblob longtext loop
  low_priority match maxvalue mediumblob mediumint mediumtext middleint minute_microsecond
  minute_second mod modifies natural no_write_to_binlog not nth_value ntile null numeric of on
  optimize optimizer_costs option optionally or order out outer outfile over partition
  percent_rank precision primary procedure purge qualify range rank read read_write reads real
  recursive references regexp release rename repeat replace require resignal restrict return revoke
  right rlike row row_number rows schema schemas second_microsecond select sensitive separator set
  show signal smallint spatial specific sql sql_big_result sql_calc_found_rows sql_small_result
  sqlexception sqlstate sqlwarning ssl starting stored straight_join system table tablesample
  terminated then tinyblob tinyint tinytext to trailing trigger true undo union unique unlock unsigned
  update usage use using utc_date utc_time utc_timestamp values varbinary varchar varcharacter varying
  virtual when where while window with write xor year_month zerofill`

/** The words that MariaDB 10.11 reserves besides: it refuses them as names of columns. */
const ofMariadb = `
  current_role delete_domain_id do_domain_ids ignore_domain_ids master_demote_to_replica
  master_demote_to_slave master_ssl_verify_server_cert offset page_checksum parse_vcol_expr portion
  ref_system_id returning stats_auto_recalc stats_persistent stats_sample_pages`

/** The words that TiDB 8.5 reserves besides, as its documentation says. */
const ofTidb = `
  array current_role ilike tablesample tidb_current_tso until`

const words = (text: string) => text.trim().split(/\s+/)
const reserved = new Set(words(ofMysql + ofMariadb + ofTidb))
const sources = join(import.meta.dirname, '../../../src/stores/mysql')

describe('names in the statements of the mysql store', () => {
  it('are quoted in the schema if a server reserves them', () => {
    const migrations = migrationsFor(mysqlTables(undefined, 'outbox_event', 'day'))
    const names = migrations.flatMap(({ statements, online }) => [
      ...statements.flatMap((text) => [
        // Columns, and then indexes with their columns.
        ...Array.from(text.matchAll(/^  (\w+) +(?!key\b)\w/gm), ([, name]) => name!),
        ...Array.from(text.matchAll(/^  (?:unique )?key (\w+) \(/gm), ([, name]) => name!),
        ...Array.from(text.matchAll(/^  (?:.*)key(?: \w+)? \(([^)]*)\)/gm), ([, list]) =>
          list!.split(/, ?/),
        ).flat(),
      ]),
      ...online.flatMap((step) =>
        step.kind === 'index' ? [step.name, ...step.columns.split(/, ?/)] : [step.name],
      ),
    ])
    const structure = new Set(['primary', 'unique', 'key', 'partition'])
    deepEqual(
      [...new Set(names)].filter((name) => reserved.has(name) && !structure.has(name)),
      [],
    )
  })

  // The servers of the tests refuse statements with words that they reserve themselves.
  it('are quoted everywhere if TiDB alone reserves them', () => {
    const unquoted = globSync('**/*.ts', { cwd: sources }).flatMap((file) =>
      words(ofTidb)
        .filter((word) => new RegExp(`(?<![\\w\`])${word}(?![\\w\`(])`).test(statementsIn(file)))
        .map((word) => `${file}: ${word}`),
    )
    deepEqual(unquoted, [])
  })
})

/** The template strings of a file, which its statements are in, without comments. */
function statementsIn(file: string): string {
  const text = readFileSync(join(sources, file), 'utf8')
  const code = text.replace(/\/\*[^]*?\*\/|\/\/.*$/gm, '')
  return Array.from(code.matchAll(/`(?:\\.|[^`\\])*`/g), ([literal]) => literal).join('\n')
}
