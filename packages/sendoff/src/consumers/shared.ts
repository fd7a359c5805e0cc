/** The types that all consumers share. */
export type { AcceptedEvent, AcceptMessage } from './accepted-event.ts'
export type { ConsumedMessage, ReadMessageId, UnidentifiedMessage } from './consumed-message.ts'
export type {
  ConsumerInbox,
  ConsumerOptions,
  ConsumerProcessOptions,
  HandlerContext,
  InvalidMessageHandler,
  MessageHandler,
} from './consumer-options.ts'
export type { MessageConsumer } from './message-consumer.ts'
