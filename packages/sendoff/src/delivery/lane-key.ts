import { partitionCount, partitionOf } from '../store/partition-of.ts'
import type { Row } from '../store/index.ts'

// No ordering key begins with this character.
const keyless = '\0'

/** Returns the lane of a row: its ordering key. A row without one is a lane of its own. */
export function laneKeyOf({ orderingKey, eventId, seq }: Row): string {
  return orderingKey ?? `${keyless}${seq % partitionCount}${keyless}${eventId}`
}

/** Returns the partition of a lane. */
export function partitionOfLane(laneKey: string): number {
  return laneKey.startsWith(keyless) ? Number(laneKey.split(keyless)[1]) : partitionOf(laneKey)
}

/** Returns the ordering key of a lane, or undefined if its row has none. */
export function orderingKeyOf(laneKey: string): string | undefined {
  return laneKey.startsWith(keyless) ? undefined : laneKey
}

/** Returns the name of a lane for the store: its ordering key, or the id of an event without one. */
export function nameOfLane(laneKey: string): string {
  return orderingKeyOf(laneKey) ?? laneKey.split(keyless)[2]!
}
