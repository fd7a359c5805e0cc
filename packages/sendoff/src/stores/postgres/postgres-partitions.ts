import type { FencedRow, OwnedPartition, OwnerFence, PartitionShares } from '../../store/index.ts'
import { heldText } from '../sql/held-text.ts'
import type { PostgresSession, Value } from './drivers/postgres-driver.ts'
import { numberArray } from './sql/statement-values.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** Tells who takes part and who owns what. Where somebody's time is over, its part is ended first. */
export async function sharesOf(
  session: PostgresSession,
  statements: PostgresStatements,
  { lock, token }: OwnerFence,
): Promise<PartitionShares | undefined> {
  let answer = await session.run(statements.shares, [lock, token])
  if (answer.some(isOver)) {
    await session.run(statements.endShares)
    answer = await session.run(statements.shares, [lock, token])
  }
  return answer.length === 0 ? undefined : readShares(answer, token)
}

export async function acquirePartitions(
  session: PostgresSession,
  { acquirePartitions: statement }: PostgresStatements,
  { lock, token }: OwnerFence,
  partitions: readonly number[],
): Promise<readonly OwnedPartition[]> {
  if (partitions.length === 0) return []

  const answer = await session.run(statement, [lock, token, numberArray(partitions)])
  return answer
    .map(([partition, epoch]) => ({ partition: Number(partition), epoch: Number(epoch) }))
    .sort((a, b) => a.partition - b.partition)
}

export async function releasePartitions(
  session: PostgresSession,
  { releasePartitions: statement }: PostgresStatements,
  { lock, token }: OwnerFence,
  partitions: readonly OwnedPartition[],
): Promise<void> {
  if (partitions.length === 0) return
  const numbers = numberArray(partitions.map(({ partition }) => partition))
  const epochs = numberArray(partitions.map(({ epoch }) => epoch))
  await session.run(statement, [lock, token, numbers, epochs])
}

export async function holdRows(
  session: PostgresSession,
  { holdRows: statement }: PostgresStatements,
  { lock, token }: OwnerFence,
  rows: readonly FencedRow[],
): Promise<boolean> {
  return (await session.run(statement, [lock, token, heldText(rows)])).length > 0
}

// A row has the number of a partition, a token and an epoch, or, without a number, a token and what is left of its time.
function readShares(answer: readonly (readonly Value[])[], asker: string): PartitionShares {
  const participants = answer.filter(([partition]) => partition === null)
  const others = participants.filter(([, token]) => token !== asker)

  return {
    participants: participants.map(([, token]) => token!),
    partitions: answer
      .filter(([partition]) => partition !== null)
      .map(([partition, owner, epoch]) => ({
        partition: Number(partition),
        owner: owner ?? null,
        epoch: Number(epoch),
      })),
    nextEndMs: Math.min(...others.map(leftMs)),
  }
}

function isOver(share: readonly Value[]): boolean {
  return share[0] === null && leftMs(share) <= 0
}

function leftMs(share: readonly Value[]): number {
  return Number(share[3])
}
