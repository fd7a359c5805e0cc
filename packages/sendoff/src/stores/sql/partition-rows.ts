import { partitionCount } from '../../store/partition-of.ts'

/** The numbers of all partitions, as rows of an INSERT. */
export const partitionRows = Array.from({ length: partitionCount }, (_, partition) => `(${partition})`).join(
  ', ',
)
