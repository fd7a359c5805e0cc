/** The time partition for all times to come. Ids of other kinds are mostly above it, or below today's, and need not be moved. */
export const aheadTimePartition = `partition ahead values less than ('03')`

/**
 * Divides a table by its ids, which begin with the time: the unique index alone then still tells whether one
 * was used before. What follows on the time partitions made so far is `ahead`, and ids that begin with no time go to `rest`.
 */
export const timePartitioning = `
partition by range columns (event_id) (
  ${aheadTimePartition},
  partition rest values less than (maxvalue)
)`
