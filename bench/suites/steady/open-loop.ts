import { setTimeout as sleep } from 'node:timers/promises'
import { sharedNow } from '../../statistics.ts'

export interface Schedule {
  /** Arrivals in a second. */
  readonly rate: number
  /** The number of arrivals. */
  readonly count: number
  /** When the first one arrives, by the shared clock. */
  readonly beginsAt: number
}

/** Returns when an arrival is due, by the shared clock. */
export function arrivalOf({ rate, beginsAt }: Schedule, number: number): number {
  return beginsAt + (number * 1_000) / rate
}

/**
 * Begins a write at each moment of the schedule, whether earlier ones have ended or not. So a slow moment
 * delays later writes no more than it would delay requests of users. Resolves when all writes have ended.
 */
export async function writeOpenLoop(
  schedule: Schedule,
  write: (number: number) => Promise<unknown>,
): Promise<void> {
  const writes = new Set<Promise<unknown>>()
  const failures: unknown[] = []
  let next = 0
  while (next < schedule.count && failures.length === 0) {
    while (next < schedule.count && arrivalOf(schedule, next) <= sharedNow()) {
      const written: Promise<unknown> = write(next++)
        .catch((error: unknown) => failures.push(error))
        .then(() => writes.delete(written))
      writes.add(written)
    }
    await sleep(Math.max(0, arrivalOf(schedule, next) - sharedNow()))
  }
  await Promise.all(writes)
  if (failures.length > 0) throw failures[0]
}
