import type { RoutingOptions } from '../../../packages/sendoff/src/route/routing-options.ts'
import type { StoredRow } from '../../../packages/sendoff/src/store/index.ts'
import type { WrittenEvent } from './history-record.ts'

/** The two destinations of every event in a run with destinations. */
export const twoDestinations = ['', 'south'] as const

/** The destination that cannot be reached for a part of the run. */
export const brokenDestination = 'south'

/** The routing of a run with destinations. */
export const twoWays: RoutingOptions = {
  version: 1,
  rules: [{ to: twoDestinations }],
  destinations: { [brokenDestination]: {} },
}

/** Returns the name of a row in a history. The judge takes each row of an event for an event of its own. */
export function rowName({ eventId, destination }: Pick<StoredRow, 'eventId' | 'destination'>): string {
  return destination === '' ? eventId : `${eventId}/${destination}`
}

/** Returns the destination in the name of a row. */
export function destinationIn(name: string): string {
  return name.split('/')[1] ?? ''
}

/** Returns whether a row, by its name, is for the destination that cannot be reached for a part of the run. */
export function isOfBroken(name: string): boolean {
  return destinationIn(name) === brokenDestination
}

/** Returns a row as the judge sees it: with its name, and with a key that it shares only with its destination. */
export function judgedRow(row: StoredRow): StoredRow {
  const { destination, orderingKey } = row
  if (destination === '') return row
  return { ...row, eventId: rowName(row), orderingKey: orderingKey && `${orderingKey}/${destination}` }
}

/** Returns the rows of written events as events of a history. */
export function rowsOf(events: readonly WrittenEvent[], destinations: readonly string[]): WrittenEvent[] {
  return events.flatMap((event) =>
    destinations.map((destination) => ({
      ...event,
      id: rowName({ eventId: event.id, destination }),
      ...(event.key !== undefined && destination !== '' && { key: `${event.key}/${destination}` }),
    })),
  )
}
