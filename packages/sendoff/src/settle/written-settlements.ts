import { EventStatus } from '../store/event-status.ts'
import type { OutboxPeople, Outcome, Settlement, StoredRow } from '../store/index.ts'
import { rowIdOf } from '../delivery/delivery.ts'

/** How many rows to read at once at most: they come with their payloads. */
const maxRead = 100

/** A limit above the number of rows of any event: an event that fans out has several. */
const anyNumber = 100_000

/**
 * Finds the settlements that the store has written, although its answer was lost and it refused the repeated
 * call. It refused the others because another process holds, or held, the row. If the store has no `people`,
 * all count as refused.
 */
export async function findWritten(
  people: OutboxPeople | undefined,
  settlements: readonly Settlement[],
): Promise<ReadonlySet<Settlement>> {
  const written = new Set<Settlement>()
  if (people === undefined) return written
  for (let start = 0; start < settlements.length; start += maxRead) {
    const some = settlements.slice(start, start + maxRead)
    const eventIds = [...new Set(some.map(({ row }) => row.eventId))]
    const found = await people.query({ eventIds, limit: anyNumber })
    const rows = new Map(found.map((row) => [rowIdOf(row), row]))
    for (const settlement of some) {
      if (isWritten(settlement, rows.get(rowIdOf(settlement.row)))) written.add(settlement)
    }
  }
  return written
}

/**
 * Whether a stored row shows this settlement. A settlement raises the fence by one, ends the lease and clears
 * the losses. A claim raises the fence as well, but sets a lease; a takeover counts a loss.
 */
function isWritten({ row, outcome }: Settlement, stored: StoredRow | undefined): boolean {
  if (stored === undefined) return outcome.kind === 'delete' || outcome.kind === 'done'
  const isNext = stored.deliveries === row.deliveries + 1 && stored.lockedBy === null && stored.losses === 0
  return isNext && hasOutcome(stored, outcome)
}

function hasOutcome({ status, blockedAt }: StoredRow, { kind }: Outcome): boolean {
  switch (kind) {
    case 'done':
      return status === EventStatus.DONE
    case 'dead':
      return status === EventStatus.DEAD
    case 'retry':
      return status === EventStatus.RETRY
    case 'defer':
      return status === EventStatus.NEW
    case 'block':
      return blockedAt !== null
    case 'delete':
      return false
  }
}
