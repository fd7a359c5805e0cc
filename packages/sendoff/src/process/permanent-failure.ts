import { describeError } from '../describe-error.ts'
import type { Processor } from './processor.ts'

/** The last stage: every event that reaches it is DEAD. */
export const permanentFailure: Processor = {
  process: ({ error, counted }) => ({ kind: 'dead', failure: { error: describeError(error), counted } }),
}
