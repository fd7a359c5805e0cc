import type {
  AcquirePartitionsRequest,
  OutboxPartitions,
  OwnedPartition,
  OwnerFence,
  PartitionShares,
  ReleasePartitionsRequest,
} from '../../store/index.ts'
import { partitionCount } from '../../store/partition-of.ts'
import type { LockingDriver, MysqlSession, Rows, StoreDriver } from './drivers/mysql-driver.ts'
import { lockedRows } from './locked-rows.ts'
import { countLossesOfHeld, ownsLock } from './mysql-locks.ts'
import { isAmongPartitions } from './owned-epochs.ts'
import { textOf } from './sql/row-columns.ts'
import { numberList, placeholders } from './sql/statement-values.ts'
import type { MysqlStatements } from './sql/statements.ts'

/** The pause between tries to expire a dead participant whose settlement has not ended, in milliseconds. */
const busyMs = 200

/** The partitions of a MySQL store. */
export function mysqlPartitions(driver: LockingDriver, statements: MysqlStatements): OutboxPartitions {
  return {
    shares: (owner) => readShares(driver, statements, owner),
    async look() {
      const { participants, owned } = divided((await driver.run(statements.shares)).rows)
      return sharesOf(
        participants.filter(({ leftMs }) => leftMs > 0),
        owned,
      )
    },
    acquire: (request) => acquirePartitions(driver, statements, request),
    release: (request) => releasePartitions(driver, statements, request),
  }
}

/**
 * Reads the participants and the owners of partitions. First expires dead participants. Mostly there are
 * none, and one statement is enough.
 *
 * A settlement of a dead participant that has not ended keeps its lock. If its machine has vanished, the
 * server may keep it for hours. The others do not wait for it: the dead one stays a participant until then.
 */
async function readShares(
  driver: LockingDriver,
  statements: MysqlStatements,
  owner: OwnerFence,
): Promise<PartitionShares | undefined> {
  for (;;) {
    const { participants, owned } = divided((await driver.run(statements.shares)).rows)
    const own = participants.find(({ name, token }) => name === owner.lock && token === owner.token)
    if (own === undefined || own.leftMs <= 0) return undefined

    const lapsed = participants.filter(({ leftMs }) => leftMs <= 0).map(({ name }) => name)
    if (lapsed.length === 0) return sharesOf(participants, owned, owner)
    const skipsLocked = await driver.skipsLocked()
    const ended = await driver.briefly((session) => endParts(session, statements, lapsed, skipsLocked))
    if (ended === 0 && skipsLocked) return { ...sharesOf(participants, owned, owner), nextEndMs: busyMs }
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
  asker?: OwnerFence,
): PartitionShares {
  const tokens = new Set(participants.map(({ token }) => token))
  const ends = participants.filter(({ token }) => token !== asker?.token).map(({ leftMs }) => leftMs)
  return {
    participants: [...tokens],
    partitions: Array.from({ length: partitionCount }, (_, partition) => {
      const { owner, epoch } = owned.get(partition) ?? { owner: null, epoch: 0 }
      return { partition, owner: owner !== null && tokens.has(owner) ? owner : null, epoch }
    }),
    nextEndMs: Math.min(...ends),
  }
}

/**
 * Expires participants, unless their locks were renewed meanwhile, or another transaction keeps them. Returns
 * how many it has expired.
 */
async function endParts(
  session: MysqlSession,
  statements: MysqlStatements,
  names: readonly string[],
  skipsLocked: boolean,
): Promise<number> {
  const { rows } = await session.run(statements.lapsedLocks(placeholders(names.length), skipsLocked), names)
  if (rows.length === 0) return 0

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
  return lapsed.length
}

/** Takes free partitions. */
async function acquirePartitions(
  driver: LockingDriver,
  statements: MysqlStatements,
  { owner, partitions }: AcquirePartitionsRequest,
): Promise<readonly OwnedPartition[]> {
  if (partitions.length === 0) return []

  const skipsLocked = await driver.skipsLocked()
  return driver.briefly(async (session) => {
    if (!(await ownsLock(session, statements, owner, skipsLocked))) return []

    const free = statements.freePartitions(numberList(partitions))
    const rows = await lockedRows(session, skipsLocked, free, [])
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

async function releasePartitions(
  driver: StoreDriver,
  { releasePartitions: statement }: MysqlStatements,
  { owner, partitions }: ReleasePartitionsRequest,
): Promise<void> {
  if (partitions.length === 0) return
  const numbers = numberList(partitions.map(({ partition }) => partition))
  const pairs = partitions.map(({ partition, epoch }) => `(${numberList([partition, epoch])})`)
  await driver.run(statement(numbers, pairs.join(', ')), [owner.token])
}
