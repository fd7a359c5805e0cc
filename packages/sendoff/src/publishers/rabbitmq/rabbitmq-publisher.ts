import { inTime } from '../../answers.ts'
import { callable, checkOptions, flag, having, requireOptions } from '../../options.ts'
import { type Publisher, type Routed, routed } from '../../publisher.ts'
import { brokerPublisher, type Verdict } from '../broker-publisher.ts'
import { publisherDefaults, type PublisherOptions, publisherOptionChecks } from '../publisher-options.ts'
import { sendInLanes } from '../send-in-lanes.ts'
import { isSilence, silenceOf } from '../silence.ts'
import { bodyBytes, wireMessage } from '../wire-message.ts'
import { AmqplibSender } from './amqplib-sender.ts'
import { OneByOneSender } from './one-by-one-sender.ts'
import { RabbitmqClientSender } from './rabbitmq-client-sender.ts'
import type { AmqplibConnection, RabbitmqClientConnection } from './rabbitmq-client.ts'
import type { RabbitmqMessage, RabbitmqSender } from './rabbitmq-message.ts'
import { UnconfirmedError } from './rabbitmq-verdict.ts'

/** Options of `rabbitmqPublisher`. */
export interface RabbitmqPublisherOptions extends PublisherOptions {
  /**
   * A connection of `rabbitmq-client`, or a function that opens one of `amqplib`. The publisher calls the
   * function at the first message, and again after a loss.
   */
  readonly connection: RabbitmqClientConnection | (() => AmqplibConnection | Promise<AmqplibConnection>)
  /** Exchange; by default `''`, the default exchange, whose routing keys are names of queues. */
  readonly exchange?: Routed<string>
  /** Routing key; the event's type by default. */
  readonly routingKey?: Routed<string>
  /** Whether a message fails if no queue is bound for it: true by default. */
  readonly failOnUnroutable?: boolean
}

/** A publisher that can be closed. */
export interface RabbitmqPublisher extends Publisher {
  /**
   * Closes what the publisher has opened: its channel, and with `amqplib` the connection. It waits one second
   * for the broker. Close the outbox first.
   */
  close(): Promise<void>
}

/** Defaults of `rabbitmqPublisher`. */
export const rabbitmqDefaults = { exchange: '', failOnUnroutable: true }

/** Publishes events as persistent messages, each confirmed by the broker. */
export function rabbitmqPublisher(options: RabbitmqPublisherOptions): RabbitmqPublisher {
  checkOptions('rabbitmqPublisher', options, {
    ...publisherOptionChecks,
    connection: (value) =>
      typeof value === 'function' || having('createPublisher')(value) === undefined
        ? undefined
        : 'a connection of rabbitmq-client, or a function that opens one of amqplib',
    exchange: route,
    routingKey: route,
    failOnUnroutable: flag,
  })
  requireOptions('rabbitmqPublisher', options, ['connection'])
  const {
    connection,
    exchange = rabbitmqDefaults.exchange,
    routingKey,
    failOnUnroutable = rabbitmqDefaults.failOnUnroutable,
    timeoutMs = publisherDefaults.timeoutMs,
  } = options
  const sender = openSender(connection)
  const lonely = new OneByOneSender(() => openSender(connection), timeoutMs)

  const publisher = brokerPublisher<RabbitmqMessage>(
    {
      name: 'RabbitMQ',

      message(event) {
        const { body, contentType, headers } = wireMessage(event, options, 'cloudEvents:')
        return {
          exchange: routed(exchange, event),
          routingKey: routingKey === undefined ? event.eventType : routed(routingKey, event),
          mandatory: failOnUnroutable,
          messageId: event.eventId,
          type: event.eventType,
          timestamp: Math.floor(event.occurredAt.getTime() / 1000),
          contentType,
          headers,
          body: bodyBytes(body),
        }
      },

      send: (letters, answers) =>
        sendInLanes(letters, async (message) => {
          const send = (through: RabbitmqSender): Promise<void> =>
            answers.within(timeoutMs, through.send(message))
          try {
            await send(sender)
          } catch (error) {
            const unconfirmed = new UnconfirmedError(message, error)
            if (!unconfirmed.mayBeAnothersFault) throw unconfirmed
            await send(lonely).catch((again: unknown) => {
              throw new UnconfirmedError(message, again)
            })
          }
        }),

      verdict: verdictOn,
    },
    options,
  )
  return {
    ...publisher,
    async close() {
      const tooLate = silenceOf('RabbitMQ')
      try {
        await inTime(closeTimeoutMs, () => Promise.all([sender.close(), lonely.close()]), { tooLate })
      } catch (error) {
        if (!isSilence(error)) throw error
      }
    },
  }
}

// A broker in a memory alarm reads nothing from publishers, not even that they close their channels.
const closeTimeoutMs = 1_000

const route = (value: unknown) =>
  typeof value === 'string' || callable(value) === undefined ? undefined : 'a string or a function'

function openSender(connection: RabbitmqPublisherOptions['connection']): RabbitmqSender {
  return typeof connection === 'function'
    ? new AmqplibSender(connection)
    : new RabbitmqClientSender(connection)
}

function verdictOn(error: unknown): Verdict {
  return error instanceof UnconfirmedError ? error.verdict : 'unavailable'
}
