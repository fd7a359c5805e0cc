import { count, having, type OptionCheck } from '../../options.ts'
import { checkConsumerOptions, consumerDefaults, type ConsumerOptions } from '../consumer-options.ts'
import { type MessageConsumer, messageConsumer } from '../message-consumer.ts'
import { MessageRuns } from '../message-runs.ts'
import { expectRedelivery, type Redelivery } from '../redelivery.ts'
import type { NatsConsumer, NatsManager } from './nats-client.ts'
import { NatsReader } from './nats-reader.ts'

/** Options of `natsConsumer`. */
export interface NatsConsumerOptions<Tx> extends ConsumerOptions<Tx> {
  /**
   * A durable pull consumer of JetStream with `ack_policy: 'explicit'`, as `jetstream.consumers.get` returns
   * it. Its connection stays open.
   */
  readonly consumer: NatsConsumer
  /**
   * `await jetstreamManager(connection)`. The consumer asks it for the `max_age` of the stream, unless
   * `redeliveryMs` is given.
   */
  readonly manager?: NatsManager
  /** How many messages the consumer takes ahead. Default: twice `concurrency`. */
  readonly prefetch?: number
}

/**
 * Consumes messages of JetStream. A message is acknowledged after its effects are committed. A failing one
 * goes back to the server with a delay; others go on meanwhile.
 */
export function natsConsumer<Tx>(options: NatsConsumerOptions<Tx>): MessageConsumer {
  checkConsumerOptions(
    'natsConsumer',
    options,
    { consumer: having('fetch', 'info'), manager: withStreams, prefetch: count },
    ['consumer'],
  )
  const {
    consumer,
    manager,
    concurrency = consumerDefaults.concurrency,
    prefetch = 2 * concurrency,
  } = options
  const runs = MessageRuns.of('NATS', options)
  return messageConsumer(runs, new NatsReader(consumer, runs, prefetch), () => {
    void expectRedelivery(runs, options, ['the stream'], manager && (() => retentionOf(consumer, manager)))
  })
}

const withStreams: OptionCheck = (value) =>
  having('info')((value as { readonly streams?: unknown } | null)?.streams) === undefined
    ? undefined
    : 'a manager of JetStream, as jetstreamManager(connection) returns it'

/** Returns how long the stream of a consumer keeps messages. */
async function retentionOf(consumer: NatsConsumer, { streams }: NatsManager): Promise<readonly Redelivery[]> {
  const { stream_name: stream } = await consumer.info()
  const { max_age: maxAgeNs } = (await streams.info(stream)).config
  // The server writes 0 for messages that it keeps for ever.
  return [{ source: `stream "${stream}"`, redeliveryMs: maxAgeNs === 0 ? Infinity : maxAgeNs / 1_000_000 }]
}
