import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { count, duration, having, oneOf, text } from '../../options.ts'
import { checkConsumerOptions, consumerDefaults, type ConsumerOptions } from '../consumer-options.ts'
import { type MessageConsumer, messageConsumer } from '../message-consumer.ts'
import { MessageRuns } from '../message-runs.ts'
import { expectRedelivery } from '../redelivery.ts'
import type { RedisStreamsConsumerClient } from './redis-streams-client.ts'
import { RedisStreamsReader } from './redis-streams-reader.ts'

/** Options of `redisStreamsConsumer`. */
export interface RedisStreamsConsumerOptions<Tx> extends ConsumerOptions<Tx> {
  /** A client of `ioredis` or of `redis`. The consumer opens two connections like it, and closes those. */
  readonly client: RedisStreamsConsumerClient
  /** The key of the stream. */
  readonly stream: string
  /** The group of consumers, which is created. Default: the name of the inbox's consumer. */
  readonly group?: string
  /** Where a new group begins. */
  readonly from?: 'earliest' | 'latest'
  /** How many messages the consumer takes ahead. Default: five times `concurrency`. */
  readonly prefetch?: number
  /** After how many milliseconds others take over the messages of a consumer that is gone. */
  readonly claimAfterMs?: number
}

/** Defaults of `redisStreamsConsumer`. */
export const redisStreamsConsumerDefaults = { from: 'earliest', claimAfterMs: 60_000 } as const

/**
 * Consumes a stream of Redis. A message is acknowledged after its effects are committed. A failing message is
 * tried again in place; others go on meanwhile.
 */
export function redisStreamsConsumer<Tx>(options: RedisStreamsConsumerOptions<Tx>): MessageConsumer {
  checkConsumerOptions(
    'redisStreamsConsumer',
    options,
    {
      client: (value) =>
        having('callBuffer', 'duplicate')(value) === undefined ||
        having('withTypeMapping', 'duplicate')(value) === undefined
          ? undefined
          : 'a client of ioredis or redis',
      stream: text,
      group: text,
      from: oneOf('earliest', 'latest'),
      prefetch: count,
      claimAfterMs: duration,
    },
    ['client', 'stream'],
  )
  const {
    client,
    stream,
    inbox,
    group = inbox.consumer,
    concurrency = consumerDefaults.concurrency,
    prefetch = 5 * concurrency,
    from = redisStreamsConsumerDefaults.from,
    claimAfterMs = redisStreamsConsumerDefaults.claimAfterMs,
  } = options
  const runs = MessageRuns.of('Redis', options)
  const member = `${hostname()}-${process.pid}-${randomUUID()}`
  const reader = new RedisStreamsReader(client, runs, { stream, group, member, from, prefetch, claimAfterMs })
  return messageConsumer(runs, reader, () => {
    void expectRedelivery(runs, options, [`stream "${stream}"`], () => reader.oldest())
  })
}
