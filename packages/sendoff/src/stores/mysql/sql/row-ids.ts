import type { RowId } from '../../../store/index.ts'
import type { Value } from '../drivers/mysql-driver.ts'
import { isAmong } from './statement-values.ts'

/** Row ids, each once. */
export function distinctRowIds(ids: readonly RowId[]): readonly RowId[] {
  return [...new Map(ids.map((id) => [rowName(id), id])).values()]
}

/** Returns one text for both parts of a row id. */
export function rowName({ eventId, destination }: RowId): string {
  return `${eventId}\n${destination}`
}

/** The condition called `rowIds` and its parameters. */
export function rowIdCondition(ids: readonly RowId[]): { condition: string; values: Value[] } {
  const eventIds = [...new Set(ids.map((id) => id.eventId))]
  const hasEventId = isAmong(
    'event_id',
    eventIds.map(() => '?'),
  )
  const { destination } = ids[0]!
  if (ids.every((id) => id.destination === destination)) {
    return { condition: `${hasEventId} and destination = ?`, values: [...eventIds, destination] }
  }

  const hasRowId = isAmong(
    '(event_id, destination)',
    ids.map(() => '(?, ?)'),
  )
  return {
    // Every version of either server can search the index for the event ids alone.
    condition: `${hasEventId}
     and ${hasRowId}`,
    values: [...eventIds, ...ids.flatMap((id) => [id.eventId, id.destination])],
  }
}
