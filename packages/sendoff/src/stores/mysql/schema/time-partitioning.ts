/**
 * The time partition for all later times. Ids of other kinds are mostly above it, or below today's, and need
 * not be moved.
 */
export const aheadTimePartition = `partition ahead values less than ('03')`

/**
 * Divides a table by its ids, which begin with the time. So the unique index alone still ensures that no id
 * is used twice. `ahead` follows the existing time partitions, and ids that do not begin with a time go to
 * `rest`.
 */
export const timePartitioning = `
partition by range columns (event_id) (
  ${aheadTimePartition},
  partition rest values less than (maxvalue)
)`
