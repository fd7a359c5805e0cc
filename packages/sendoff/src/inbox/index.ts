/** Effects exactly once on the side of a consumer: `new Inbox({ outbox, consumer })`. */
export { type Acceptance, type InboxMessage, messageIdHeader } from './accept-message.ts'
export { Inbox, type ProcessOutcome } from './inbox.ts'
export type { InboxOptions, ProcessOptions } from './inbox-options.ts'
export type { MarkPurgeOptions } from './mark-purge.ts'
export type { EventMessage, MessageId } from './message-id.ts'
