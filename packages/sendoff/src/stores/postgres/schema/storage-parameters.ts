/**
 * Storage parameters of the events. Part of a published migration, which never changes.
 *
 * Inserts fill a page to a half. It then has room for the claims of nearly all of its rows, which touch no
 * index (HOT). Measured by draining 100,000 rows of 400 bytes in batches of 500, at 100 / 80 / 60 / 50 %: 1,
 * 26, 60 and 91 % of the claims are HOT. The log takes 2,040, 1,710, 1,330 and 1,080 bytes per row, and the
 * server 36, 34, 31 and 27 µs. With rows kept and vacuumed, the table has 100, 118, 149 and 176 % of its
 * size.
 *
 * Every delivery leaves dead versions behind, also in the index that claims read. By default, vacuum clears
 * them when they are a fifth of a table that is mostly DONE rows; here, a fiftieth. Vacuum leaves a small
 * table alone, and a table that was large keeps its pages. Otherwise PostgreSQL would read a table without
 * its indexes after it has seen it nearly empty, and keep that plan for a while after it has filled up.
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
 * Storage parameters of the primary key. A settled row has a new version, and the key an entry for it. A page
 * filled to a half has room for both. PostgreSQL would first search a full page for entries of dead versions,
 * and the table with it.
 */
export const primaryKeyStorageParameters = 'fillfactor = 50'
