import { callable, checkOptions, count, having, requireOptions, text } from '../../options.ts'
import { type Publisher, type Routed, routed } from '../../publisher.ts'
import { isSilence } from '../silence.ts'
import { brokerPublisher, type Verdict } from '../broker-publisher.ts'
import { publisherDefaults, type PublisherOptions, publisherOptionChecks } from '../publisher-options.ts'
import { sendInLanes } from '../send-in-lanes.ts'
import { bodyBytes, wireMessage } from '../wire-message.ts'
import type { RedisStreamsClient } from './redis-streams-client.ts'

/** Options of `redisStreamsPublisher`. */
export interface RedisStreamsPublisherOptions extends PublisherOptions {
  /** A client of `ioredis` or of `redis`, or a cluster. The publisher neither connects nor closes it. */
  readonly client: RedisStreamsClient
  /** Key of the stream. */
  readonly stream: Routed<string>
  /** Approximate number of messages that the stream keeps; it drops older ones. By default it keeps all. */
  readonly maxLength?: number
}

/**
 * Adds events to streams: the payload in the field `payload`, each header in a field of its name.
 *
 * A reply means that the server has the message. The server's persistence settings decide whether the message
 * survives a crash.
 */
export function redisStreamsPublisher(options: RedisStreamsPublisherOptions): Publisher {
  checkOptions('redisStreamsPublisher', options, {
    ...publisherOptionChecks,
    client: (value) =>
      having('call')(value) === undefined || having('xAdd')(value) === undefined
        ? undefined
        : 'a client of ioredis or redis',
    stream: (value) => (callable(value) && text(value) ? 'a string or a function' : undefined),
    maxLength: count,
  })
  requireOptions('redisStreamsPublisher', options, ['client', 'stream'])
  const { client, stream, maxLength, timeoutMs = publisherDefaults.timeoutMs } = options

  return brokerPublisher<RedisStreamMessage>(
    {
      name: 'Redis',

      message(event) {
        const { body, contentType, headers } = wireMessage(event, options, 'ce-')
        return {
          stream: routed(stream, event),
          fields: { ...headers, 'content-type': contentType, payload: bodyBytes(body) },
        }
      },

      send: (letters, answers) =>
        sendInLanes(letters, (message) => answers.within(timeoutMs, addToStream(client, message, maxLength))),

      verdict: verdictOn,
    },
    options,
  )
}

interface RedisStreamMessage {
  readonly stream: string
  readonly fields: Record<string, string | Buffer>
}

function addToStream(
  client: RedisStreamsClient,
  { stream, fields }: RedisStreamMessage,
  maxLength: number | undefined,
): Promise<unknown> {
  if ('xAdd' in client) {
    return maxLength === undefined
      ? client.xAdd(stream, '*', fields)
      : client.xAdd(stream, '*', fields, {
          TRIM: { strategy: 'MAXLEN', strategyModifier: '~', threshold: maxLength },
        })
  }
  const trim = maxLength === undefined ? [] : ['MAXLEN', '~', String(maxLength)]
  return client.call('XADD', [stream, ...trim, '*', ...Object.entries(fields).flat()])
}

// Replies of a server that runs, but cannot accept messages at the moment.
const awayReplies = /^(?:OOM|LOADING|READONLY|MISCONF|NOREPLICAS|CLUSTERDOWN|MASTERDOWN|TRYAGAIN|BUSY)\b/

function verdictOn(error: unknown): Verdict {
  if (isSilence(error) || !(error instanceof Error)) return 'unavailable'
  const isReply = /^[A-Z]{3,} /.test(error.message)
  return isReply && !awayReplies.test(error.message) ? 'retry' : 'unavailable'
}
