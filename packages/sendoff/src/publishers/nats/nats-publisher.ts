import { callable, checkOptions, having, requireOptions, text } from '../../options.ts'
import { type Publisher, type Routed, routed } from '../../publisher.ts'
import { isSilence } from '../silence.ts'
import { brokerPublisher, type Verdict } from '../broker-publisher.ts'
import { errorChain } from '../error-chain.ts'
import { publisherDefaults, type PublisherOptions, publisherOptionChecks } from '../publisher-options.ts'
import { sendInLanes } from '../send-in-lanes.ts'
import { bodyBytes, wireMessage } from '../wire-message.ts'
import type { NatsJetStream } from './nats-client.ts'
import { NatsHeaders } from './nats-headers.ts'

/** Options of `natsPublisher`. */
export interface NatsPublisherOptions extends PublisherOptions {
  /** A client of JetStream. The publisher neither connects nor closes it. */
  readonly jetstream: NatsJetStream
  /** Subject that messages are published to. */
  readonly subject: Routed<string>
  /** Stream that has to store the messages. The acknowledgement of another stream is a failure. */
  readonly stream?: Routed<string>
}

/**
 * Publishes events to JetStream, each acknowledged by the stream that stores it.
 *
 * `Nats-Msg-Id` is the event's id. The stream stores a message once if it comes again within its
 * `duplicate_window`.
 */
export function natsPublisher(options: NatsPublisherOptions): Publisher {
  checkOptions('natsPublisher', options, {
    ...publisherOptionChecks,
    jetstream: having('publish'),
    subject: route,
    stream: route,
  })
  requireOptions('natsPublisher', options, ['jetstream', 'subject'])
  const { jetstream, subject, stream, timeoutMs = publisherDefaults.timeoutMs } = options

  return brokerPublisher(
    {
      name: 'NATS',

      message(event) {
        const { body, contentType, headers } = wireMessage(event, options, 'ce-')
        headers['content-type'] = contentType
        const streamName = stream === undefined ? undefined : routed(stream, event)
        return {
          subject: routed(subject, event),
          body: bodyBytes(body),
          options: {
            msgID: event.eventId,
            timeout: timeoutMs,
            headers: new NatsHeaders(headers),
            ...(streamName !== undefined && { expect: { streamName } }),
          },
        }
      },

      send: (letters, answers) =>
        sendInLanes(letters, (message) =>
          answers.within(
            // The client has the same limit and a better message.
            timeoutMs + 1_000,
            jetstream.publish(message.subject, message.body, message.options),
          ),
        ),

      verdict: verdictOn,
    },
    options,
  )
}

const route = (value: unknown) => (callable(value) && text(value) ? 'a string or a function' : undefined)

const awayErrors = ['TimeoutError', 'ClosedConnectionError', 'DrainingConnectionError', 'ConnectionError']
const messageTooLarge = 10_054
const streamFull = 10_077

// If no stream has the subject, no server replies. This may be a mistake or an election, so it is worth
// further attempts.
function verdictOn(error: unknown): Verdict {
  if (isSilence(error)) return 'unavailable'
  for (const each of errorChain(error)) {
    if (awayErrors.includes(each.name)) return 'unavailable'
    if (each.name === 'InvalidArgumentError' || each.code === messageTooLarge) return 'fatal'
    if (each.status === 503 && each.code !== streamFull) return 'unavailable'
  }
  return 'retry'
}
