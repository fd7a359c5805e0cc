import { partitionCount, partitionOfRow } from '../../store/partition-of.ts'
import type { OwnerFence, Settlement, SettleRequest } from '../../store/index.ts'
import { storedErrorText } from '../../store/error-text.ts'
import type { PostgresSession } from './drivers/postgres-driver.ts'
import { rowName } from './sql/row-ids.ts'
import { numberArray, roundedUp, storable, textArray } from './sql/statement-values.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** Records outcomes in one statement. Returns the settlements that were refused. */
export async function settleRows(
  session: PostgresSession,
  statements: PostgresStatements,
  { settlements, owner }: SettleRequest,
): Promise<readonly Settlement[]> {
  const { first, repeated } = firstOfEachRow(settlements)
  if (first.length === 0) return []

  const epochs = areAlike(first) ? epochsOf(first) : undefined
  const refused =
    epochs === undefined
      ? await settleEach(session, statements, first, owner)
      : await settleAlike(session, statements, first, epochs, owner)
  return [...refused, ...repeated]
}

/**
 * Whether all settlements are alike: all done or all to be deleted, without a failure, with the same holder
 * and fence. Those of most batches are.
 */
function areAlike(batch: readonly Settlement[]): boolean {
  const { row, outcome } = batch[0]!
  if (outcome.kind !== 'done' && outcome.kind !== 'delete') return false

  return batch.every(
    (each) =>
      each.outcome.kind === outcome.kind &&
      each.outcome.failure === undefined &&
      each.row.lockedBy === row.lockedBy &&
      each.row.deliveries === row.deliveries &&
      each.row.destination === row.destination,
  )
}

const noEpoch = -1

/**
 * Returns the epochs at which rows of the batch were read, by partition, and -1 for none. Returns an empty
 * list for rows without epochs. Undefined if a partition has two, or if a row does not name its partition.
 */
function epochsOf(batch: readonly Settlement[]): readonly number[] | undefined {
  if (batch.every(({ row }) => row.epoch === undefined)) return []

  const epochs = new Array<number>(partitionCount).fill(noEpoch)
  for (const { row } of batch) {
    const { epoch, partitionNo, seq } = row
    if (epoch === undefined || partitionNo === undefined) return undefined
    const partition = partitionOfRow({ partitionNo, seq })
    if (epochs[partition] !== noEpoch && epochs[partition] !== epoch) return undefined
    epochs[partition] = epoch
  }
  return epochs
}

async function settleAlike(
  session: PostgresSession,
  statements: PostgresStatements,
  batch: readonly Settlement[],
  epochs: readonly number[],
  owner: OwnerFence | undefined,
): Promise<readonly Settlement[]> {
  const { row, outcome } = batch[0]!
  const isDone = outcome.kind === 'done'
  const values = [textArray(batch.map((each) => each.row.eventId)), row.destination, String(row.deliveries)]
  if (row.lockedBy === null && owner === undefined) return batch

  const { settleDone, settleDoneOwned, settleDoneShared } = statements
  const { settleDelete, settleDeleteOwned, settleDeleteShared } = statements
  const owned = [...values, owner?.lock ?? null, owner?.token ?? null]
  const refused =
    row.lockedBy !== null
      ? await session.run(isDone ? settleDone : settleDelete, [...values, row.lockedBy])
      : epochs.length === 0
        ? await session.run(isDone ? settleDoneOwned : settleDeleteOwned, owned)
        : await session.run(isDone ? settleDoneShared : settleDeleteShared, [
            ...owned,
            ...epochValues(epochs),
          ])
  if (refused.length === 0) return []

  const ids = new Set(refused.map(([id]) => id))
  return batch.filter((each) => ids.has(each.row.eventId))
}

function epochValues(epochs: readonly number[]): readonly string[] {
  return [numberArray(epochs), String(epochs.filter((epoch) => epoch !== noEpoch).length)]
}

async function settleEach(
  session: PostgresSession,
  { settle }: PostgresStatements,
  batch: readonly Settlement[],
  owner: OwnerFence | undefined,
): Promise<readonly Settlement[]> {
  const settlements = JSON.stringify(batch.map(fieldsOf))
  const places = await session.run(settle, [settlements, owner?.lock ?? null, owner?.token ?? null])
  return places.map(([place]) => batch[Number(place) - 1]!)
}

/** A settled row cannot be settled again, in the same batch or in a later one. */
function firstOfEachRow(batch: readonly Settlement[]): {
  first: readonly Settlement[]
  repeated: readonly Settlement[]
} {
  if (new Set(batch.map(({ row }) => row.eventId)).size === batch.length)
    return { first: batch, repeated: [] }

  const seen = new Set<string>()
  const first: Settlement[] = []
  const repeated: Settlement[] = []
  for (const settlement of batch) {
    const name = rowName(settlement.row)
    ;(seen.has(name) ? repeated : first).push(settlement)
    seen.add(name)
  }
  return { first, repeated }
}

// Returns the fields in the order in which the statement takes them.
function fieldsOf({ row, outcome }: Settlement): unknown[] {
  const failure = 'failure' in outcome ? outcome.failure : undefined
  const failed = failure === undefined ? null : storedText(failure.error)
  const reason = 'reason' in outcome && outcome.reason !== undefined ? storedText(outcome.reason) : null

  return [
    row.eventId,
    row.destination,
    row.deliveries,
    row.lockedBy,
    outcome.kind,
    'delayMs' in outcome ? Number(roundedUp(outcome.delayMs)) : null,
    outcome.kind === 'defer' ? reason : failed,
    failed,
    failure?.counted === true ? 1 : 0,
    row.epoch ?? null,
  ]
}

function storedText(text: string): string {
  return storedErrorText(storable(text))
}
