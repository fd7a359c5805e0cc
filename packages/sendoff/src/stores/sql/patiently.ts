import { setTimeout as sleep } from 'node:timers/promises'
import { OutboxError } from '../../errors.ts'

/** Options of `patiently`. */
export interface PatientStep {
  /** The step in words, for the error. */
  readonly what: string
  /** Whether an error means that another transaction was in the way. */
  readonly isInTheWay: (error: unknown) => boolean
}

const tries = 100
const pauseMs = 250

/**
 * Repeats a step that gives up when another transaction is in its way. A step that waited for longer would
 * hold up all later users of the table, such as heartbeats and writers.
 */
export async function patiently<Result>(
  { what, isInTheWay }: PatientStep,
  step: () => Promise<Result>,
): Promise<Result> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await step()
    } catch (error) {
      if (!isInTheWay(error)) throw error
      if (tried === tries) throw stillInTheWay(what, error)
      await sleep(pauseMs)
    }
  }
}

function stillInTheWay(what: string, cause: unknown): OutboxError {
  return new OutboxError(
    'OUTBOX_STORE_BUSY',
    `The migration could not ${what}: transactions of other sessions were in its way in each of ${tries} tries. ` +
      'Find the session that keeps a transaction open, end it, and call await store.migrate() again.',
    { cause },
  )
}
