/** Receives signed webhooks through an inbox: `webhookReceiver({ secrets, inbox, handler })`. */
export type * from '../shared.ts'
export { type WebhookReceiver, webhookReceiver, type WebhookReceiverOptions } from './webhook-receiver.ts'
