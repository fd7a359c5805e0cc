import type { FailedAttempt } from '../store/index.ts'
import { MailDelayedError, MailRefusedError, MailSuppressedError } from './mail-errors.ts'
import type { Recipient } from './mail-message.ts'
import type { Discreet } from './without-addresses.ts'

/**
 * The outcome of a mail for one recipient.
 *
 * - `accepted`: a server accepted the mail.
 * - `refused`: a server will never accept it.
 * - `delayed`: a server did not accept it yet; another attempt may succeed.
 * - `suppressed`: the recipient is on the suppression list and was not tried.
 */
export interface RecipientOutcome extends Recipient {
  readonly kind: 'accepted' | 'refused' | 'delayed' | 'suppressed'
  readonly reason?: string
}

/** Numbers of the recipients that need no further attempt. */
export interface PastOutcomes {
  readonly accepted: ReadonlySet<number>
  readonly refused: ReadonlySet<number>
}

const record = /\[accepted ([\d,]*); refused ([\d,]*)\]/

/**
 * Returns what the attempts so far have settled. It reads the history of failed attempts, which the store
 * writes in the same step as the outcome of the row. A recipient that has the mail never gets it again. A
 * refused one is tried again only after a replay.
 */
export function pastOutcomes(history: readonly FailedAttempt[], attempt: number): PastOutcomes {
  const sinceReplay = history.slice(history.length - (attempt - 1))
  return { accepted: numbersIn(history, 1), refused: numbersIn(sinceReplay, 2) }
}

/** Returns the error that a mail's row is settled with; undefined if all recipients have the mail. */
export function failureOf(outcomes: readonly RecipientOutcome[], discreet: Discreet): Error | undefined {
  const some = (kind: RecipientOutcome['kind']) => outcomes.some((outcome) => outcome.kind === kind)
  const text = describe(outcomes, discreet)

  if (some('delayed')) return new MailDelayedError(text)
  if (some('refused')) return new MailRefusedError(text)
  if (!some('suppressed')) return undefined
  return some('accepted') ? new MailSuppressedError(text) : new MailRefusedError(text)
}

// The numbers come first, so that they survive when a long text is cut off.
function describe(outcomes: readonly RecipientOutcome[], discreet: Discreet): string {
  const numbers = (kind: RecipientOutcome['kind']) =>
    outcomes.filter((outcome) => outcome.kind === kind).map(({ number }) => number)
  const reasons = outcomes
    .filter(({ reason }) => reason !== undefined)
    .map(({ number, kind, reason }) => `#${number} ${kind}: ${discreet(reason!)}`)
  return `[accepted ${numbers('accepted').join()}; refused ${numbers('refused').join()}] ${reasons.join('; ')}`
}

function numbersIn(history: readonly FailedAttempt[], group: 1 | 2): ReadonlySet<number> {
  const lists = history.map(({ error }) => record.exec(error)?.[group] ?? '')
  return new Set(
    lists
      .flatMap((list) => list.split(','))
      .filter(Boolean)
      .map(Number),
  )
}
