import type { OwnerFence, Settlement } from '../../store.ts'
import { storedErrorText } from '../error-text.ts'
import type { PostgresSession, Value } from './postgres-driver.ts'
import { heldValues, rowName } from './row-keys.ts'
import { roundedUp, storable } from './statement-values.ts'
import type { PostgresStatements } from './statements.ts'

/** Records outcomes in one statement and answers the settlements that were refused. */
export async function settleRows(
  session: PostgresSession,
  statements: PostgresStatements,
  batch: readonly Settlement[],
  owner: OwnerFence | undefined,
): Promise<readonly Settlement[]> {
  const { first, repeated } = firstOfEachRow(batch)
  if (first.length === 0) return []

  const places = first.every(isPlainlyDone)
    ? await settleDone(session, statements, first, owner)
    : await session.run(statements.settle, [
        JSON.stringify(first.map(fieldsOf)),
        owner?.lock ?? null,
        owner?.token ?? null,
      ])
  return [...places.map(([place]) => first[Number(place) - 1]!), ...repeated]
}

function settleDone(
  session: PostgresSession,
  statements: PostgresStatements,
  batch: readonly Settlement[],
  owner: OwnerFence | undefined,
): Promise<readonly (readonly Value[])[]> {
  const rows = heldValues(batch.map(({ row }) => row))
  return owner === undefined
    ? session.run(statements.settleDone, rows)
    : session.run(statements.settleDoneOwned, [...rows, owner.lock, owner.token])
}

/** A row that was settled cannot be settled again, in the same batch as little as in the next. */
function firstOfEachRow(batch: readonly Settlement[]): { first: Settlement[]; repeated: Settlement[] } {
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

function isPlainlyDone({ outcome }: Settlement): boolean {
  return outcome.kind === 'done' && outcome.failure === undefined
}

// In the order in which the statement takes them.
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
  ]
}

function storedText(text: string): string {
  return storedErrorText(storable(text))
}
