/**
 * Storage parameters of the events. Part of a published migration, which never changes.
 *
 * Inserts fill half of a page. It then has room for the claims of nearly all of its rows, which touch no
 * index (HOT). Measured by draining 100,000 rows of 400 bytes in batches of 500, at 100 / 80 / 60 / 50 %: 1,
 * 26, 60 and 91 % of the claims are HOT. The log takes 2,040, 1,710, 1,330 and 1,080 bytes per row, and the
 * server 36, 34, 31 and 27 µs. With rows kept and vacuumed, the table has 100, 118, 149 and 176 % of its
 * size.
 *
 * Every delivery leaves dead versions behind, even in the index that claims read. By default, vacuum clears
 * them when they make up a fifth of a table, which is mostly DONE rows; here, a fiftieth. Vacuum leaves a
 * small table alone, and a table that was large keeps its pages. Otherwise PostgreSQL, having seen a table
 * nearly empty, would read it without its indexes. It would keep that plan for a while after the table has
 * filled up.
 */
export const storageParameters = `
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 10000,
  autovacuum_vacuum_insert_threshold = 10000,
  autovacuum_analyze_scale_factor = 0.05,
  autovacuum_analyze_threshold = 10000,
  vacuum_truncate = false
`

/**
 * Storage parameters of the primary key. A settled row has a new version, and the key has an entry for it. A
 * page that is half full has room for both. In a full page, PostgreSQL would first search for entries of dead
 * versions, and look them up in the table.
 */
export const primaryKeyStorageParameters = 'fillfactor = 50'
