import { OutboxError } from '../errors.ts'
import type { Acceptance, InboxMessage, ProcessOutcome } from '../inbox/index.ts'
import type { Logger } from '../observe/logger.ts'
import {
  callable,
  checkOptions,
  count,
  duration,
  durationOrInfinity,
  having,
  type OptionCheck,
  requireOptions,
} from '../options.ts'
import type { RetryPolicy } from '../retry/retry-policy.ts'
import type { AcceptMessage } from './accepted-event.ts'
import type { ConsumedMessage, ReadMessageId, UnidentifiedMessage } from './consumed-message.ts'

/** The part of an inbox that consumers use. */
export interface ConsumerInbox<Tx> {
  readonly consumer: string
  process(
    message: string,
    handler: (tx: Tx) => unknown,
    options: ConsumerProcessOptions,
  ): Promise<ProcessOutcome>
  accept(message: InboxMessage): Promise<Acceptance>
  expectRedelivery?(source: string, redeliveryMs: number, by: 'process' | 'accept'): void
}

/** What a consumer says of a message when it processes it. */
export interface ConsumerProcessOptions {
  /** A message that another consumer holds is `busy`. */
  readonly wait: false
  /** The headers of the message, which carry the trace of its sender. */
  readonly headers: Readonly<Record<string, string>>
  /** The type that the sender gave the message. */
  readonly type: string | undefined
}

/** What a handler knows besides its message. */
export interface HandlerContext {
  /** 1 at the first attempt of this process, and 1 more after each failure. */
  readonly attempt: number
  /** Aborts when `close` no longer waits for the handler. */
  readonly signal: AbortSignal
}

/** Gives a message its effects, within the transaction that marks it. */
export type MessageHandler<Tx> = (message: ConsumedMessage, tx: Tx, context: HandlerContext) => unknown

/** Called for a message that cannot be processed; the message is acknowledged when it resolves. */
export type InvalidMessageHandler = (
  message: Omit<UnidentifiedMessage, 'payload' | 'type'>,
  error: unknown,
) => unknown

/** Options of all consumers. At least one of `handler` and `accept` is needed. */
export interface ConsumerOptions<Tx> {
  /** The inbox, in the database of the effects. */
  readonly inbox: ConsumerInbox<Tx>
  /** Gives a message its effects. It runs within `inbox.process`. */
  readonly handler?: MessageHandler<Tx>
  /**
   * Makes messages events of the outbox: `true` for events with type, payload and key of the message, or a
   * function that returns the event. Without `handler`, every message becomes an event. With it, those do
   * that have failed `retry.maxAttempts` times.
   */
  readonly accept?: true | AcceptMessage
  /**
   * Reads the id of a message. Default: the header `event-id`, the source and id of a CloudEvent, or the id
   * that the broker carries for the sender.
   */
  readonly messageId?: ReadMessageId
  /**
   * The fate of a message without an id, or which cannot become an event. `retry` keeps it and logs it as an
   * error; `drop` logs and acknowledges it; a function is called, and the message acknowledged after it.
   */
  readonly onInvalid?: 'retry' | 'drop' | InvalidMessageHandler
  /** How long to wait after a failure, and after how many failures a message goes to `accept`. */
  readonly retry?: RetryPolicy
  /**
   * How long the broker may deliver a message again, in milliseconds, or Infinity: usually how long it keeps
   * messages. The inbox warns if it forgets messages sooner.
   */
  readonly redeliveryMs?: number
  /** How many handlers run at a time. */
  readonly concurrency?: number
  /** How long `close` waits for running handlers, in milliseconds. */
  readonly closeTimeoutMs?: number
  /** Gets reports of failures, a few of each kind. Default: standard error. */
  readonly logger?: Logger | false
}

/** Defaults of all consumers. */
export const consumerDefaults = { onInvalid: 'retry', concurrency: 10, closeTimeoutMs: 10_000 } as const

/** How many attempts a message has before it goes to `accept`, unless its policy says so. */
export const defaultMaxAttempts = 5

/** Checks of the options of all consumers. */
export const consumerOptionChecks: Readonly<Record<string, OptionCheck>> = {
  inbox: having('process', 'accept'),
  handler: callable,
  accept: (value) => (value === true || callable(value) === undefined ? undefined : 'true or a function'),
  messageId: callable,
  onInvalid: (value) =>
    value === 'retry' || value === 'drop' || callable(value) === undefined
      ? undefined
      : '"retry", "drop" or a function',
  retry: having('computeDelayMs'),
  redeliveryMs: durationOrInfinity,
  concurrency: count,
  closeTimeoutMs: duration,
  logger: (value) => (value === false ? undefined : having('debug', 'info', 'warn', 'error')(value)),
}

/** Throws for options that a consumer cannot have. `further` and `needed` are those of the broker. */
export function checkConsumerOptions(
  what: string,
  options: object,
  further: Readonly<Record<string, OptionCheck>>,
  needed: readonly string[],
): void {
  checkOptions(what, options, { ...consumerOptionChecks, ...further })
  requireOptions(what, options, [...needed, 'inbox'])
  const { handler, accept } = options as { readonly handler?: unknown; readonly accept?: unknown }
  if (handler === undefined && accept === undefined) {
    throw new OutboxError(
      'OUTBOX_INVALID_OPTION',
      `${what} has neither "handler" nor "accept". One of these options says what becomes of a message.`,
    )
  }
}
