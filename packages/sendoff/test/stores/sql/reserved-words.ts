/** The words that PostgreSQL 18 reserves. */
const ofPostgres = new Set(
  `
all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate collation column
concurrently constraint create cross current_catalog current_date current_role current_schema current_time
current_timestamp current_user default deferrable desc distinct do else end except false fetch for foreign freeze from
full grant group having ilike in initially inner intersect into is isnull join lateral leading left like limit
localtime localtimestamp natural not notnull null offset on only or order outer overlaps placing primary references
returning right select session_user similar some symmetric system_user table tablesample then to trailing true union
unique user using variadic verbose when where window with
`
    .trim()
    .split(/\s+/),
)

/** The words that MySQL 9, MariaDB 11 and TiDB 8 reserve. */
const ofMysql = new Set(
  `
accessible add all alter analyse analyze and any array as asc asensitive asymmetric authorization before between
bigint binary blob both by call cascade case cast change char character check collate collation column concurrently
condition constraint continue convert create cross cube cume_dist current current_catalog current_date current_role
current_schema current_time current_timestamp current_user cursor database databases day_hour day_microsecond
day_minute day_second dec decimal declare default deferrable delayed delete dense_rank desc describe deterministic
distinct distinctrow div do do_domain_ids double drop dual each else elseif empty enclosed end escaped except exists
exit explain false fetch first_value float float4 float8 for force foreign freeze from full fulltext function general
generated get grant group grouping groups having high_priority hour_microsecond hour_minute hour_second if ignore
ignore_domain_ids ignore_server_ids ilike in index infile initially inner inout insensitive insert int int1 int2 int3
int4 int8 integer intersect interval into io_after_gtids io_before_gtids is isnull iterate join json_table key keys
kill lag last_value lateral lead leading leave left like limit linear lines load localtime localtimestamp lock long
longblob longtext loop low_priority manual master_bind master_heartbeat_period master_ssl_verify_server_cert match
maxvalue mediumblob mediumint mediumtext middleint minute_microsecond minute_second mod modifies natural not notnull
no_write_to_binlog nth_value ntile null numeric of offset on only optimize optimizer_costs option optionally or order
out outer outfile over overlaps page_checksum parallel parse_vcol_expr partition percent_rank placing precision
primary procedure purge qualify range rank read reads read_write real recursive ref_system_id references regexp
release rename repeat replace require resignal restrict return returning revoke right rlike row row_number rows
schema schemas second_microsecond select sensitive separator session_user set show signal similar slow smallint some
spatial specific sql sqlexception sqlstate sqlwarning sql_big_result sql_calc_found_rows sql_small_result ssl starting
stats_auto_recalc stats_persistent stats_sample_pages stored straight_join symmetric system system_user table
tablesample terminated then tidb tinyblob tinyint tinytext to trailing trigger true undo union unique unlock unsigned
until update usage use user using utc_date utc_time utc_timestamp values varbinary varchar varcharacter variadic
varying vector verbose virtual when where while window with write xor year_month zerofill
delete_domain_id external library master_demote_to_replica master_demote_to_slave portion tidb_current_tso
`
    .trim()
    .split(/\s+/),
)

/** The reserved words by store. A name that is one of them has to stand in quotes. */
export const reservedWords = { postgres: ofPostgres, mysql: ofMysql }

/** The reserved words that statements of the stores use for what they mean, never as names. */
export const usedKeywords: ReadonlySet<string> = new Set(
  `
add all alter and any array as asc between bigint binary by case cast char character check collate column concurrently
constraint create cross current_user database declare default delete desc distinct do double drop else end except
exists exit false fetch float8 for force foreign from function generated group having if in index inner insert int
integer interval into is join key left like limit lock longblob longtext loop mediumtext maxvalue natural not null of
offset on only or order outer over partition primary range read references release replace return returning revoke
right row rows select set smallint table then to true union unique unlock update using utc_timestamp values varbinary
varchar when where with write stored trigger straight_join lateral recursive schema regexp mod

`
    .trim()
    .split(/\s+/),
)
