export { type Bounce, bounceWebhook, type BounceWebhookOptions } from './bounce-webhook.ts'
export type { RenderedTexts, RenderTemplate, ResolveAttachment } from './compose-mail.ts'
export { escapeHtml } from './escape-html.ts'
export { failoverTransport, type FailoverTransportOptions } from './failover-transport.ts'
export { fileTransport, type FileTransportOptions } from './file-transport.ts'
export {
  type HttpMailAnswer,
  httpMailTransport,
  type HttpMailTransportOptions,
  type VisibleRecipients,
  visibleRecipients,
} from './http-mail-transport.ts'
export { KeyRing, type KeyRingOptions } from './key-ring.ts'
export { logTransport, type LogTransportOptions } from './log-transport.ts'
export { formatAddress, type MailAddress, type MailAddressLike } from './mail-address.ts'
export {
  type AttachmentContent,
  base64Of,
  type ComposedAttachment,
  type InlineAttachment,
  type MailAttachment,
  type ReferencedAttachment,
  type StoredAttachment,
} from './mail-attachment.ts'
export {
  MailDelayedError,
  MailRefusedError,
  MailSuppressedError,
  TransportUnavailableError,
} from './mail-errors.ts'
export type { EnqueueOptions } from './mail-event.ts'
export type { MailMessage, StoredMessage } from './mail-message.ts'
export { type ClaimedMail, type MailFilter, MailOutbox } from './mail-outbox.ts'
export type { MailOutboxOptions } from './mail-outbox-options.ts'
export { MailOutboxWorker } from './mail-outbox-worker.ts'
export type { MailOutboxWorkerOptions } from './mail-outbox-worker-options.ts'
export { mailRetries } from './mail-retries.ts'
export type { Refusal } from './mail-sender.ts'
export type {
  ComposedMail,
  MailEnvelope,
  MailReceipt,
  MailTransport,
  RejectedRecipient,
  SendContext,
} from './mail-transport.ts'
export {
  type NodemailerMail,
  nodemailerTransport,
  type NodemailerTransporter,
  type NodemailerTransportOptions,
} from './nodemailer-transport.ts'
export type { RateLimitOptions } from './rate-limit.ts'
export type { MailState, StoredMail } from './stored-mail.ts'
export {
  type SuppressedAddress,
  SuppressionList,
  type SuppressionListOptions,
  type Suppressions,
} from './suppression-list.ts'
