/**
 * How the events are kept. Part of a published migration, which never changes.
 *
 * Filled to a half by inserts, a page has room for the claims of nearly all of its rows, which then touch no index
 * (HOT). Draining 100,000 rows of 400 bytes in batches of 500, at 100 / 80 / 60 / 50 %: 1, 26, 60 and 91 % of
 * the claims are HOT, with 2,040, 1,710, 1,330 and 1,080 bytes of log for each row and 36, 34, 31 and 27 µs of
 * the server's time. With rows kept and vacuumed, the table has 100, 118, 149 and 176 % of its size.
 *
 * Every delivery leaves dead versions behind, also in the index that claims read. By default they would be
 * cleared away when they are a fifth of a table that is mostly DONE rows; here, a fiftieth. A small table is
 * left alone, and a table that was large keeps its pages: PostgreSQL reads a table without its indexes when
 * it has seen it nearly empty, and keeps that plan for a while after it has filled up.
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
 * How the primary key is kept. A settled row has a new version, and the key an entry for it: a page that was filled
 * to a half has room for both. A full one would first be searched for entries of dead versions, and the table with it.
 */
export const primaryKeyStorageParameters = 'fillfactor = 50'
