import { partitionCount } from '../../store/partition-of.ts'
import type { FencedRow, OwnedPartition, OwnerFence, PartitionShares } from '../../store/index.ts'
import { heldText } from '../sql/held-text.ts'
import type { MysqlDriver, MysqlSession, Rows } from './drivers/mysql-driver.ts'
import { countLossesOfHeld, ownsLock } from './mysql-locks.ts'
import { isAmongPartitions } from './owned-epochs.ts'
import { textOf } from './sql/row-columns.ts'
import { numberList, placeholders } from './sql/statement-values.ts'
import type { MysqlStatements } from './sql/statements.ts'

/** Who takes part and who owns what, after the end of those whose time is over. Mostly there are none: one statement then. */
export async function readShares<Tx extends object>(
  driver: MysqlDriver<Tx>,
  statements: MysqlStatements,
  owner: OwnerFence,
): Promise<PartitionShares | undefined> {
  for (;;) {
    const { participants, owned } = divided((await driver.run(statements.shares)).rows)
    const own = participants.find(({ name, token }) => name === owner.lock && token === owner.token)
    if (own === undefined || own.leftMs <= 0) return undefined

    const lapsed = participants.filter(({ leftMs }) => leftMs <= 0).map(({ name }) => name)
    if (lapsed.length === 0) return sharesOf(participants, owned, owner)
    await driver.briefly((session) => endParts(session, statements, lapsed))
  }
}

interface Participant {
  readonly name: string
  readonly token: string
  readonly leftMs: number
}

interface Owned {
  readonly owner: string | null
  readonly epoch: number
}

function divided(rows: Rows): { participants: Participant[]; owned: Map<number, Owned> } {
  const participants: Participant[] = []
  const owned = new Map<number, Owned>()
  for (const [name, token, number, epoch] of rows) {
    if (name === null) owned.set(Number(number), { owner: textOf(token), epoch: Number(epoch) })
    else participants.push({ name: textOf(name)!, token: textOf(token)!, leftMs: Number(number) / 1_000 })
  }
  return { participants, owned }
}

function sharesOf(
  participants: readonly Participant[],
  owned: ReadonlyMap<number, Owned>,
  { token: asker }: OwnerFence,
): PartitionShares {
  const tokens = new Set(participants.map(({ token }) => token))
  const ends = participants.filter(({ token }) => token !== asker).map(({ leftMs }) => leftMs)
  return {
    participants: [...tokens],
    partitions: Array.from({ length: partitionCount }, (_, partition) => {
      const { owner, epoch } = owned.get(partition) ?? { owner: null, epoch: 0 }
      return { partition, owner: owner !== null && tokens.has(owner) ? owner : null, epoch }
    }),
    nextEndMs: Math.min(...ends),
  }
}

/** Ends the part of participants, unless they were renewed meanwhile. */
async function endParts(
  session: MysqlSession,
  statements: MysqlStatements,
  names: readonly string[],
): Promise<void> {
  const { rows } = await session.run(statements.lapsedLocks(placeholders(names.length)), names)
  if (rows.length === 0) return

  for (const [, held, token] of rows) {
    if (held === null) continue
    const { rows: owned } = await session.run(statements.partitionsOf, [textOf(token)])
    await countLossesOfHeld(
      session,
      statements,
      textOf(held),
      isAmongPartitions(owned.map(([number]) => Number(number))),
    )
  }
  const lapsed = rows.map(([name]) => textOf(name))
  await session.run(statements.endParts(placeholders(lapsed.length), lapsed.length), lapsed)
}

/** Takes partitions that are free. */
export async function acquirePartitions<Tx extends object>(
  driver: MysqlDriver<Tx>,
  statements: MysqlStatements,
  owner: OwnerFence,
  partitions: readonly number[],
): Promise<readonly OwnedPartition[]> {
  if (partitions.length === 0) return []

  return driver.briefly(async (session) => {
    if (!(await ownsLock(session, statements, owner))) return []

    const { rows } = await session.run(statements.freePartitions(numberList(partitions)))
    if (rows.length === 0) return []

    const taken = rows.map(([partition, epoch]) => ({
      partition: Number(partition),
      epoch: Number(epoch) + 1,
    }))
    const numbers = numberList(taken.map(({ partition }) => partition))
    await session.run(statements.takePartitions(numbers), [owner.token])
    return taken
  })
}

export async function releasePartitions<Tx extends object>(
  driver: MysqlDriver<Tx>,
  { releasePartitions: statement }: MysqlStatements,
  { token }: OwnerFence,
  partitions: readonly OwnedPartition[],
): Promise<void> {
  if (partitions.length === 0) return
  const numbers = numberList(partitions.map(({ partition }) => partition))
  const pairs = partitions.map(({ partition, epoch }) => `(${numberList([partition, epoch])})`)
  await driver.run(statement(numbers, pairs.join(', ')), [token])
}

/** Whether the lock is still the owner's, so that what it holds is remembered. */
export async function holdRows<Tx extends object>(
  driver: MysqlDriver<Tx>,
  statements: MysqlStatements,
  owner: OwnerFence,
  rows: readonly FencedRow[],
): Promise<boolean> {
  const { affectedRows } = await driver.run(statements.hold, [heldText(rows), owner.lock, owner.token])
  // Where nothing has changed, not all count it.
  return affectedRows > 0 || ownsLock(driver, statements, owner)
}
