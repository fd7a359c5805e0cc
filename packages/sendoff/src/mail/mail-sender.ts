import { inTime } from '../answers.ts'
import { describeError } from '../describe-error.ts'
import { RetryAfterError, UnrecoverableError } from '../errors.ts'
import type { EventEnvelope } from '../event/event-envelope.ts'
import type { Logger } from '../observe/logger.ts'
import { DispatchResult } from '../route/dispatch-result.ts'
import type { DispatchContext, EventListener, ListenerAnswer } from '../route/event-listener.ts'
import type { Availability } from './availability.ts'
import { mailboxOf } from './mail-address.ts'
import { TransportUnavailableError } from './mail-errors.ts'
import { type Recipient, recipientsOf } from './mail-message.ts'
import type { MailOutbox } from './mail-outbox.ts'
import type { MailPayload } from './mail-payload.ts'
import type { ComposedMail, MailTransport, RejectedRecipient } from './mail-transport.ts'
import type { RateLimit } from './rate-limit.ts'
import { failureOf, type PastOutcomes, pastOutcomes, type RecipientOutcome } from './recipient-outcomes.ts'
import type { Suppressions } from './suppression-list.ts'
import { type Discreet, discreetError, withoutAddresses } from './without-addresses.ts'

/** A recipient whose server refuses its mail for good. */
export interface Refusal {
  readonly mailId: string
  readonly address: string
  readonly reason: string
}

/** Options of `MailSender`. */
export interface MailSenderOptions {
  readonly outbox: Pick<MailOutbox<never>, 'attempts' | 'compose' | 'read'>
  readonly transport: MailTransport
  readonly transportAvailability: Availability
  readonly rateLimit: RateLimit | undefined
  readonly suppressions: Suppressions | undefined
  readonly suppressionsAvailability: Availability
  readonly sendTimeoutMs: number
  readonly onRefused: ((refusal: Refusal) => unknown) | undefined
  readonly logger: Logger
}

const outageReason = 'Waits for the end of an outage.'
const nothingPast: PastOutcomes = { accepted: new Set(), refused: new Set() }

/**
 * Listener of a provider. It sends a mail to the recipients that have not got it, and are neither suppressed
 * nor refused.
 *
 * The error that it throws says what became of each recipient, unless all of them have the mail. The step
 * that settles the row also stores this error in the row's history. The next attempt then leaves out the
 * recipients that this one reached.
 */
export class MailSender implements EventListener {
  readonly #options: MailSenderOptions
  #verification: Promise<unknown> | undefined

  constructor(options: MailSenderOptions) {
    this.#options = options
  }

  async onEvent(event: EventEnvelope, context: DispatchContext): Promise<ListenerAnswer> {
    const { outbox, rateLimit, transportAvailability, suppressionsAvailability } = this.#options
    const restMs = Math.max(transportAvailability.restMs, suppressionsAvailability.restMs)
    if (restMs > 0) return DispatchResult.retryAfter(restMs, outageReason)
    const waitMs = rateLimit?.takeTurn() ?? 0
    if (waitMs > 0) return { kind: 'retryAfter', delayMs: waitMs, quiet: true }

    const { eventId: id, contentType, payloadJson } = event
    const mail = outbox.read({ eventId: id, contentType, payload: payloadJson ?? event.payloadBytes })
    const discreet = withoutAddresses(mail.message)
    const past =
      context.fencingToken > 1 ? pastOutcomes(await outbox.attempts(id), context.attempt) : nothingPast
    let outcomes: readonly RecipientOutcome[]
    try {
      outcomes = await this.#deliver(id, mail, past, discreet, context.signal)
    } catch (error) {
      if (error instanceof Postponed) return DispatchResult.retryAfter(error.delayMs, error.message)
      throw discreetError(error, discreet)
    }
    const failure = failureOf(outcomes, discreet)
    if (failure !== undefined) throw failure
  }

  async #deliver(
    id: string,
    mail: MailPayload,
    past: PastOutcomes,
    discreet: Discreet,
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
    const suppressed = await this.#suppressed(open, discreet)
    for (const recipient of open) {
      const reason = suppressed.get(recipient.address)
      if (reason !== undefined) settle(recipient, 'suppressed', reason)
    }

    const wanted = open.filter(({ number }) => !outcomes.has(number))
    const rejected = wanted.length === 0 ? [] : await this.#send(id, mail, wanted, discreet, signal)
    const rejections = new Map(rejected.map((rejection) => [mailboxOf(rejection.address), rejection]))
    const mailboxes = new Set(wanted.map(({ address }) => mailboxOf(address)))
    // Better twice than never: a rejected address that is unknown may stand for any recipient.
    const unknown = rejected.find(({ address }) => !mailboxes.has(mailboxOf(address)))
    for (const recipient of wanted) {
      const rejection =
        rejections.get(mailboxOf(recipient.address)) ?? (unknown && { ...unknown, isPermanent: false })
      if (rejection === undefined) settle(recipient, 'accepted')
      else settle(recipient, rejection.isPermanent ? 'refused' : 'delayed', rejection.reason)
    }
    return recipients.map(({ number }) => outcomes.get(number)!)
  }

  async #suppressed(
    recipients: readonly Recipient[],
    discreet: Discreet,
  ): Promise<ReadonlyMap<string, string>> {
    const { suppressions, suppressionsAvailability: availability } = this.#options
    if (suppressions === undefined || recipients.length === 0) return new Map()
    availability.begin()
    try {
      const found = await suppressions.find(recipients.map(({ address }) => address))
      availability.answered()
      return found
    } catch (error) {
      const told = discreetError(error, discreet)
      throw new Postponed(availability.failed(told), told)
    }
  }

  async #send(
    id: string,
    mail: MailPayload,
    recipients: readonly Recipient[],
    discreet: Discreet,
    signal: AbortSignal,
  ): Promise<readonly RejectedRecipient[]> {
    const addresses = recipients.map(({ address }) => address)
    const composed = await this.#options.outbox.compose(id, mail, addresses)
    const rejected = await this.#handOver(composed, discreet, signal)
    for (const rejection of rejected) {
      if (rejection.isPermanent && rejection.isAddressFault === true) {
        await this.#tellOfRefusal(id, rejection, discreet)
      }
    }
    return rejected
  }

  // An attempt counts whenever a server may have accepted the mail, so it arrives at most once per attempt.
  async #handOver(
    mail: ComposedMail,
    discreet: Discreet,
    signal: AbortSignal,
  ): Promise<readonly RejectedRecipient[]> {
    const { transport, transportAvailability: availability, sendTimeoutMs } = this.#options
    if (availability.restMs > 0) throw new Postponed(availability.restMs, outageReason)
    await this.#verified(availability.begin(), discreet, signal)
    try {
      const { rejected } = await inTime(
        sendTimeoutMs,
        (limited) => transport.send(mail, { signal: limited }),
        { signal },
      )
      availability.answered()
      return rejected
    } catch (error) {
      if (signal.aborted) availability.untold()
      else if (error instanceof TransportUnavailableError) throw this.#unavailable(error, discreet)
      else availability.answered()
      if (signal.aborted || error instanceof RetryAfterError || error instanceof UnrecoverableError)
        throw error

      availability.doubt()
      const reason = describeError(error)
      return mail.envelope.to.map((address) => ({ address, isPermanent: false, reason }))
    }
  }

  // While one mail verifies the transport, others wait for its result. Otherwise each would count an attempt.
  async #verified(mustVerify: boolean, discreet: Discreet, signal: AbortSignal): Promise<void> {
    const { transport, transportAvailability: availability, sendTimeoutMs } = this.#options
    if (mustVerify && transport.verify !== undefined) this.#verification ??= this.#verify(sendTimeoutMs)
    if (this.#verification === undefined) return
    let error: unknown
    try {
      error = await inTime(2 * sendTimeoutMs, () => this.#verification!, { signal })
    } catch (interrupted) {
      if (mustVerify) availability.untold()
      throw interrupted
    }
    if (error !== undefined) throw this.#unavailable(error, discreet)
  }

  /** Returns the error that keeps the transport from sending; undefined if it can send. */
  async #verify(timeoutMs: number): Promise<unknown> {
    try {
      await inTime(timeoutMs, (signal) => this.#options.transport.verify!({ signal }))
      return undefined
    } catch (error) {
      return error ?? new Error('The transport cannot be used.')
    } finally {
      this.#verification = undefined
    }
  }

  #unavailable(error: unknown, discreet: Discreet): Postponed {
    const askedMs = error instanceof TransportUnavailableError ? error.retryAfterMs : undefined
    const told = discreetError(error, discreet)
    return new Postponed(this.#options.transportAvailability.failed(told, askedMs), told)
  }

  // A fault here is only logged: the mail is on its way to the other recipients.
  async #tellOfRefusal(
    mailId: string,
    { address, reason }: RejectedRecipient,
    discreet: Discreet,
  ): Promise<void> {
    const { onRefused, logger } = this.#options
    try {
      await onRefused?.({ mailId, address, reason })
    } catch (error) {
      logger.error(`onRefused failed for mail ${mailId}. ${discreet(describeError(error))}`)
    }
  }
}

/** Thrown to make the mail wait without counting an attempt. */
class Postponed extends Error {
  readonly delayMs: number

  constructor(delayMs: number, reason: unknown) {
    super(typeof reason === 'string' ? reason : describeError(reason))
    this.delayMs = delayMs
  }
}
