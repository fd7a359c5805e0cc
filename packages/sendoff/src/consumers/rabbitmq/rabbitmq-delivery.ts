import { type IncomingMessage, plainHeaders } from '../incoming-message.ts'
import type { MessageRuns, RunResult } from '../message-runs.ts'

/** The answer to the broker. A rejected message goes to the dead-letter exchange, if its queue has one. */
export type RabbitmqAnswer = 'ack' | 'requeue' | 'reject'

/** What a reader of RabbitMQ needs. */
export interface RabbitmqReaderOptions {
  readonly queue: string
  readonly prefetch: number
  readonly onFailure: 'requeue' | 'reject'
}

/** The parts of a message that both clients have. */
export interface RabbitmqProperties {
  readonly headers?: Readonly<Record<string, unknown>> | undefined
  readonly contentType?: unknown
  readonly messageId?: unknown
  readonly type?: unknown
}

/** Makes a message from the properties of a delivery. */
export function rabbitmqMessage(
  queue: string,
  deliveryTag: number,
  { headers = {}, contentType, messageId, type }: RabbitmqProperties,
  body: Buffer,
): IncomingMessage {
  return {
    source: queue,
    place: `delivery ${deliveryTag}`,
    headers: plainHeaders(Object.entries(headers)),
    contentType: text(contentType),
    body,
    key: null,
    brokerId: text(messageId),
    brokerType: text(type),
  }
}

/**
 * Runs a delivery, and returns the answer to the broker.
 *
 * RabbitMQ delivers a requeued message again at once. So this keeps a message that failed until its wait is
 * over, and only then returns it to the queue.
 */
export async function answerTo(
  message: IncomingMessage,
  runs: MessageRuns,
  { onFailure }: RabbitmqReaderOptions,
): Promise<RabbitmqAnswer> {
  const result: RunResult = await runs.run(message)
  if (result === 'done') return 'ack'
  if (result === 'dropped') return 'reject'
  if (result === 'left') return 'requeue'
  if (result.why === 'failed' && onFailure === 'reject') return 'reject'
  await runs.wait(result.retryAfterMs)
  return 'requeue'
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
