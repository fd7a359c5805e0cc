import { partitionCount, partitionOf } from '../store/partition-of.ts'
import type { Row } from '../store/index.ts'

// No ordering key begins like this.
const keyless = '\0'

/** What runs one after another: the rows of an ordering key; a row without one stands alone. */
export function laneKeyOf({ orderingKey, eventId, seq }: Row): string {
  return orderingKey ?? `${keyless}${seq % partitionCount}${keyless}${eventId}`
}

export function partitionOfLane(laneKey: string): number {
  return laneKey.startsWith(keyless) ? Number(laneKey.split(keyless)[1]) : partitionOf(laneKey)
}

/** The ordering key of a lane; undefined where its row has none. */
export function orderingKeyOf(laneKey: string): string | undefined {
  return laneKey.startsWith(keyless) ? undefined : laneKey
}

/** As a store has to be told which key, or which event without one, is known. */
export function nameOfLane(laneKey: string): string {
  return orderingKeyOf(laneKey) ?? laneKey.split(keyless)[2]!
}
