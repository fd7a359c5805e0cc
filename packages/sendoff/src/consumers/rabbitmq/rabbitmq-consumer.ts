import { count, having, oneOf, text } from '../../options.ts'
import { checkConsumerOptions, consumerDefaults, type ConsumerOptions } from '../consumer-options.ts'
import { type MessageConsumer, messageConsumer } from '../message-consumer.ts'
import { MessageRuns } from '../message-runs.ts'
import { expectRedelivery } from '../redelivery.ts'
import { AmqplibReader } from './amqplib-reader.ts'
import { RabbitmqClientReader } from './rabbitmq-client-reader.ts'
import type { RabbitmqConsumerConnection } from './rabbitmq-client.ts'

/** Options of `rabbitmqConsumer`. */
export interface RabbitmqConsumerOptions<Tx> extends ConsumerOptions<Tx> {
  /**
   * A connection of `rabbitmq-client`, or a function that opens one of `amqplib`. The consumer calls the
   * function at its start and again after a loss, and closes the connection at its end.
   */
  readonly connection: RabbitmqConsumerConnection
  /** The queue to consume. It has to exist. */
  readonly queue: string
  /**
   * How many messages the broker sends ahead. Messages that wait for another attempt are among them, so give
   * more than `concurrency`.
   */
  readonly prefetch?: number
  /**
   * What a message does whose handler has failed: `requeue` waits and returns it to the queue; `reject` sends
   * it to the dead-letter exchange of the queue at once, and loses it if there is none.
   */
  readonly onFailure?: 'requeue' | 'reject'
}

/** Defaults of `rabbitmqConsumer`. */
export const rabbitmqConsumerDefaults = { prefetch: 50, onFailure: 'requeue' } as const

/**
 * Consumes a queue of RabbitMQ. A message is acknowledged after its effects are committed. A failing message
 * returns to the queue after a wait; others go on meanwhile.
 */
export function rabbitmqConsumer<Tx>(options: RabbitmqConsumerOptions<Tx>): MessageConsumer {
  checkConsumerOptions(
    'rabbitmqConsumer',
    options,
    {
      connection: (value) =>
        typeof value === 'function' || having('createConsumer')(value) === undefined
          ? undefined
          : 'a connection of rabbitmq-client, or a function that opens one of amqplib',
      queue: text,
      prefetch: count,
      onFailure: oneOf('requeue', 'reject'),
    },
    ['connection', 'queue'],
  )
  const {
    connection,
    queue,
    concurrency = consumerDefaults.concurrency,
    prefetch = Math.max(rabbitmqConsumerDefaults.prefetch, 2 * concurrency),
    onFailure = rabbitmqConsumerDefaults.onFailure,
  } = options
  const runs = MessageRuns.of('RabbitMQ', options)
  const reading = { queue, prefetch, onFailure }
  const reader =
    typeof connection === 'function'
      ? new AmqplibReader(connection, runs, reading)
      : new RabbitmqClientReader(connection, runs, reading)
  return messageConsumer(runs, reader, () => void expectRedelivery(runs, options, [`queue "${queue}"`]))
}
