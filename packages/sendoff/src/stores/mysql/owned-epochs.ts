import type { HeldRow, OwnerFence, Settlement } from '../../store/index.ts'
import type { MysqlSession } from './drivers/mysql-driver.ts'
import { ownsLock } from './mysql-locks.ts'
import { partitionOfRow } from './sql/partition-statements.ts'
import { numberList, rowsOf } from './sql/statement-values.ts'
import type { MysqlStatements } from './sql/statements.ts'

/** The epochs of an owner's partitions that matter to a batch, by partition. */
export type OwnedEpochs = ReadonlyMap<number, number>

/**
 * Returns the epochs of the owner's partitions. They stay valid until the end of the transaction. Returns
 * undefined if the owner has lost its lock.
 */
export async function ownership(
  session: MysqlSession,
  statements: MysqlStatements,
  batch: readonly Settlement[],
  owner: OwnerFence | undefined,
  skipsLocked: boolean,
): Promise<OwnedEpochs | undefined> {
  if (owner === undefined || !(await ownsLock(session, statements, owner, skipsLocked))) return undefined

  const epochs = new Set(batch.flatMap(({ row }) => (row.lockedBy === null ? (row.epoch ?? []) : [])))
  if (epochs.size === 0) return new Map()

  const { rows } = await session.run(statements.ownedPartitions(numberList([...epochs])), [owner.token])
  return new Map(rows.map(([partition, epoch]) => [Number(partition), Number(epoch)]))
}

/** Whether the process that read a row without a claim may still settle it. */
export function isInEpoch({ epoch }: HeldRow, partition: number, owned: OwnedEpochs): boolean {
  return epoch === undefined || owned.get(partition) === epoch
}

/**
 * Returns the condition that all rows are in partitions that are owned at their epochs. Mostly there is one
 * epoch.
 */
export function epochCondition(rows: readonly HeldRow[], owned: OwnedEpochs): string {
  const groups = [...Map.groupBy(rows, ({ epoch }) => epoch)].map(([epoch, group]) => {
    const partitions = [...owned].filter(([, each]) => each === epoch).map(([partition]) => partition)
    return { group, condition: epoch === undefined ? 'true' : isAmongPartitions(partitions) }
  })
  if (groups.length === 1) return groups[0]!.condition

  const conditions = groups.map(
    ({ group, condition }) => `${rowsOf(group.map(({ seq }) => seq))} and ${condition}`,
  )
  return `(${conditions.join(' or ')})`
}

/** Returns the condition that a row is in one of these partitions. */
export function isAmongPartitions(partitions: readonly number[]): string {
  return partitions.length === 0 ? 'false' : `${partitionOfRow} in (${numberList(partitions)})`
}
