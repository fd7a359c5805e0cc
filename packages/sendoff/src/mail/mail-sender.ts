import { describeError } from '../describe-error.ts'
import { RetryAfterError, UnrecoverableError } from '../errors.ts'
import type { EventEnvelope } from '../event/event-envelope.ts'
import type { Logger } from '../observe/logger.ts'
import { DispatchResult } from '../route/dispatch-result.ts'
import type { DispatchContext, EventListener, ListenerAnswer } from '../route/event-listener.ts'
import { mailboxOf } from './mail-address.ts'
import { type Recipient, recipientsOf } from './mail-message.ts'
import type { MailOutbox } from './mail-outbox.ts'
import type { MailPayload } from './mail-payload.ts'
import type { MailTransport, RejectedRecipient } from './mail-transport.ts'
import type { RateLimit } from './rate-limit.ts'
import { failureOf, type PastOutcomes, pastOutcomes, type RecipientOutcome } from './recipient-outcomes.ts'
import { sendInTime } from './send-in-time.ts'
import type { Suppressions } from './suppression-list.ts'

/** A recipient that a server will never take mail for. */
export interface Refusal {
  readonly mailId: string
  readonly address: string
  readonly reason: string
}

export interface MailSenderOptions {
  readonly outbox: Pick<MailOutbox<never>, 'attempts' | 'compose' | 'read'>
  readonly transport: MailTransport
  readonly rateLimit: RateLimit | undefined
  readonly suppressions: Suppressions | undefined
  readonly sendTimeoutMs: number
  readonly onRefused: ((refusal: Refusal) => unknown) | undefined
  readonly logger: Logger
}

const nothingPast: PastOutcomes = { accepted: new Set(), refused: new Set() }

/**
 * The listener of a provider: sends a mail to those of its recipients who have not got it, and are not suppressed or refused.
 *
 * What became of each is in the error that it throws, unless everybody has the mail: so it gets into the history of the row in
 * the very step that settles it, and the next attempt leaves out whom this one reached.
 */
export class MailSender implements EventListener {
  readonly #options: MailSenderOptions

  constructor(options: MailSenderOptions) {
    this.#options = options
  }

  async onEvent(event: EventEnvelope, context: DispatchContext): Promise<ListenerAnswer> {
    const { outbox, rateLimit } = this.#options
    const { eventId: id, contentType, payloadJson } = event
    const waitMs = rateLimit?.waitFor(id) ?? 0
    if (waitMs > 0) return DispatchResult.retryAfter(waitMs)

    const mail = outbox.read({ eventId: id, contentType, payload: payloadJson ?? event.payloadBytes })
    const past =
      context.fencingToken > 1 ? pastOutcomes(await outbox.attempts(id), context.attempt) : nothingPast
    const outcomes = await this.#deliver(id, mail, past, context.signal)
    const failure = failureOf(outcomes)
    if (failure !== undefined) throw failure
  }

  async #deliver(
    id: string,
    mail: MailPayload,
    past: PastOutcomes,
    signal: AbortSignal,
  ): Promise<readonly RecipientOutcome[]> {
    const recipients = recipientsOf(mail.message)
    const outcomes = new Map<number, RecipientOutcome>()
    const settle = (recipient: Recipient, kind: RecipientOutcome['kind'], reason?: string) =>
      outcomes.set(recipient.number, { ...recipient, kind, ...(reason !== undefined && { reason }) })

    for (const recipient of recipients) {
      if (past.accepted.has(recipient.number)) settle(recipient, 'accepted')
      else if (past.refused.has(recipient.number)) settle(recipient, 'refused', 'as before')
    }
    const open = recipients.filter(({ number }) => !outcomes.has(number))
    const suppressed = await this.#suppressed(open)
    for (const recipient of open) {
      const reason = suppressed.get(recipient.address)
      if (reason !== undefined) settle(recipient, 'suppressed', reason)
    }

    const wanted = open.filter(({ number }) => !outcomes.has(number))
    const rejected = wanted.length === 0 ? [] : await this.#send(id, mail, wanted, signal)
    const rejections = new Map(rejected.map((rejection) => [mailboxOf(rejection.address), rejection]))
    const mailboxes = new Set(wanted.map(({ address }) => mailboxOf(address)))
    // Rather twice than never: where it is not known who was rejected, it may have been anybody.
    const unknown = rejected.find(({ address }) => !mailboxes.has(mailboxOf(address)))
    for (const recipient of wanted) {
      const rejection =
        rejections.get(mailboxOf(recipient.address)) ?? (unknown && { ...unknown, isPermanent: false })
      if (rejection === undefined) settle(recipient, 'accepted')
      else settle(recipient, rejection.isPermanent ? 'refused' : 'delayed', rejection.reason)
    }
    return recipients.map(({ number }) => outcomes.get(number)!)
  }

  async #suppressed(recipients: readonly Recipient[]): Promise<ReadonlyMap<string, string>> {
    const { suppressions } = this.#options
    if (suppressions === undefined || recipients.length === 0) return new Map()
    return suppressions.find(recipients.map(({ address }) => address))
  }

  // What fails before anything is handed over is thrown as it is; a transport that fails has reached nobody.
  async #send(
    id: string,
    mail: MailPayload,
    recipients: readonly Recipient[],
    signal: AbortSignal,
  ): Promise<readonly RejectedRecipient[]> {
    const { outbox, transport, sendTimeoutMs } = this.#options
    const addresses = recipients.map(({ address }) => address)
    const composed = await outbox.compose(id, mail, addresses)
    try {
      const { rejected } = await sendInTime(transport, composed, { signal }, sendTimeoutMs)
      for (const rejection of rejected) if (rejection.isPermanent) await this.#tellOfRefusal(id, rejection)
      return rejected
    } catch (error) {
      if (signal.aborted || error instanceof RetryAfterError || error instanceof UnrecoverableError)
        throw error
      const reason = describeError(error)
      return addresses.map((address) => ({ address, isPermanent: false, reason }))
    }
  }

  // The mail is on its way to the others, whatever becomes of this.
  async #tellOfRefusal(mailId: string, { address, reason }: RejectedRecipient): Promise<void> {
    const { onRefused, logger } = this.#options
    try {
      await onRefused?.({ mailId, address, reason })
    } catch (error) {
      logger.error(`onRefused failed for mail ${mailId}. ${describeError(error)}`)
    }
  }
}
