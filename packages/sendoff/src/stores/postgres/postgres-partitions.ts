import type {
  AcquirePartitionsRequest,
  OutboxPartitions,
  OwnedPartition,
  OwnerFence,
  PartitionShares,
  ReleasePartitionsRequest,
} from '../../store/index.ts'
import type { PostgresSession, Value } from './drivers/postgres-driver.ts'
import { numberArray } from './sql/statement-values.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** The partitions of a PostgreSQL store. */
export function postgresPartitions(
  session: PostgresSession,
  statements: PostgresStatements,
): OutboxPartitions {
  return {
    shares: (owner) => readShares(session, statements, owner),
    look: async () => sharesOf(await session.run(statements.lookAtShares)),
    acquire: (request) => acquirePartitions(session, statements, request),
    release: (request) => releasePartitions(session, statements, request),
  }
}

/** Reads the participants and the owners of partitions. First expires dead participants. */
async function readShares(
  session: PostgresSession,
  statements: PostgresStatements,
  { lock, token }: OwnerFence,
): Promise<PartitionShares | undefined> {
  let answer = await session.run(statements.shares, [lock, token])
  if (answer.some(isOver)) {
    await session.run(statements.endShares)
    answer = await session.run(statements.shares, [lock, token])
  }
  return answer.length === 0 ? undefined : sharesOf(answer, token)
}

async function acquirePartitions(
  session: PostgresSession,
  { acquirePartitions: statement }: PostgresStatements,
  { owner: { lock, token }, partitions }: AcquirePartitionsRequest,
): Promise<readonly OwnedPartition[]> {
  if (partitions.length === 0) return []

  const answer = await session.run(statement, [lock, token, numberArray(partitions)])
  return answer
    .map(([partition, epoch]) => ({ partition: Number(partition), epoch: Number(epoch) }))
    .sort((a, b) => a.partition - b.partition)
}

async function releasePartitions(
  session: PostgresSession,
  { releasePartitions: statement }: PostgresStatements,
  { owner: { lock, token }, partitions }: ReleasePartitionsRequest,
): Promise<void> {
  if (partitions.length === 0) return
  const numbers = numberArray(partitions.map(({ partition }) => partition))
  const epochs = numberArray(partitions.map(({ epoch }) => epoch))
  await session.run(statement, [lock, token, numbers, epochs])
}

// A row has the number of a partition, a token and an epoch. Or it has no number, but a token and the time
// that is left of its lock.
function sharesOf(answer: readonly (readonly Value[])[], asker?: string): PartitionShares {
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
