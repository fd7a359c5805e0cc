import { requireDelay } from '../event/delay.ts'

/** What a listener says became of an event. Saying nothing is `done`. */
export type DispatchResult =
  | { readonly kind: 'done' }
  | {
      readonly kind: 'retryAfter'
      readonly delayMs: number
      readonly reason?: string
      /** This process does not look for the event by itself when it falls due: the listener sees to that. */
      readonly quiet?: boolean
    }
  | { readonly kind: 'dead'; readonly reason: string }

const done: DispatchResult = Object.freeze({ kind: 'done' })

export const DispatchResult = {
  done: (): DispatchResult => done,

  /** Not yet: try again after `delayMs`. Does not count as an attempt. */
  retryAfter(delayMs: number, reason?: string): DispatchResult {
    requireDelay('retryAfter', delayMs)
    return reason === undefined ? { kind: 'retryAfter', delayMs } : { kind: 'retryAfter', delayMs, reason }
  },

  /** Never: no further attempt and no fallback. */
  dead: (reason = 'The listener gave the event up.'): DispatchResult => ({ kind: 'dead', reason }),
}
