import { requireDelay } from '../event/delay.ts'

/** The result of a listener for an event. Returning nothing means `done`. */
export type DispatchResult =
  | { readonly kind: 'done' }
  | {
      readonly kind: 'retryAfter'
      readonly delayMs: number
      readonly reason?: string
      /**
       * If true, this process does not poll for the event when it falls due. The listener takes care of that.
       */
      readonly quiet?: boolean
    }
  | { readonly kind: 'dead'; readonly reason: string }

const done: DispatchResult = Object.freeze({ kind: 'done' })

/** Makes the results that a listener can return. */
export const DispatchResult = {
  done: (): DispatchResult => done,

  /** Defers the event: it is due again after `delayMs` milliseconds. No attempt is counted. */
  retryAfter(delayMs: number, reason?: string): DispatchResult {
    requireDelay('retryAfter', delayMs)
    return reason === undefined ? { kind: 'retryAfter', delayMs } : { kind: 'retryAfter', delayMs, reason }
  },

  /** Gives the event up: no further attempt and no fallback. */
  dead: (reason = 'The listener gave the event up.'): DispatchResult => ({ kind: 'dead', reason }),
}
