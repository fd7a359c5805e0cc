import { usageError } from '../command-error.ts'
import type { RelayTarget } from './relay-config.ts'

/** The forms of an address, for texts. */
export const addressForms = [
  'kafka://BROKER:9092,BROKER:9092/TOPIC',
  'amqp://USER:PASSWORD@HOST/VHOST?exchange=NAME&routingKey=KEY',
  'nats://HOST:4222/SUBJECT?stream=NAME',
  'redis://HOST:6379/0?stream=KEY',
  'https://HOST/PATH',
  'smtp://USER:PASSWORD@HOST:587',
]

/** Reads the address of a target. No error quotes it, because it may hold a password. */
export function readRelayAddress(address: string): RelayTarget {
  const [, scheme = '', rest = ''] = /^([a-z]+):\/\/(.*)$/is.exec(address) ?? []
  switch (scheme.toLowerCase()) {
    case 'kafka':
      return { kafka: kafkaTarget(rest) }
    case 'amqp':
    case 'amqps':
      return { rabbitmq: rabbitmqTarget(parse(address)) }
    case 'nats':
      return { nats: natsTarget(parse(address)) }
    case 'redis':
    case 'rediss':
      return { redisStreams: redisTarget(parse(address)) }
    case 'http':
    case 'https':
      // The operator has chosen the address, so it may be one of a private network.
      return { http: { url: parse(address).href, allowPrivateAddresses: true } }
    case 'smtp':
    case 'smtps':
      return { mail: { smtp: parse(address).href } }
    default:
      throw usageError(
        `Where should events go? The address after --to has one of these forms: ${addressForms.join(', ')}`,
      )
  }
}

function kafkaTarget(rest: string) {
  const [hosts = '', topic = ''] = rest.split('/')
  if (hosts === '' || topic === '') throw incomplete('Kafka', 'brokers and a topic', addressForms[0]!)
  return { brokers: hosts.split(','), topic: decodeURIComponent(topic) }
}

function rabbitmqTarget(url: URL) {
  const [exchange, routingKey] = [taken(url, 'exchange'), taken(url, 'routingKey')]
  return {
    url: url.href,
    ...(exchange !== undefined && { exchange }),
    ...(routingKey !== undefined && { routingKey }),
  }
}

function natsTarget(url: URL) {
  const subject = decodeURIComponent(url.pathname.slice(1))
  if (subject === '') throw incomplete('NATS', 'a subject', addressForms[2]!)
  const stream = taken(url, 'stream')
  url.pathname = ''
  return { servers: url.href, subject, ...(stream !== undefined && { stream }) }
}

function redisTarget(url: URL) {
  const stream = taken(url, 'stream')
  if (stream === undefined) throw incomplete('Redis Streams', 'a stream', addressForms[3]!)
  return { url: url.href, stream }
}

/** Takes a parameter out of an address: the client does not know it. */
function taken(url: URL, name: string): string | undefined {
  const value = url.searchParams.get(name) ?? undefined
  url.searchParams.delete(name)
  return value
}

function parse(address: string): URL {
  if (URL.canParse(address)) return new URL(address)
  throw usageError(
    'The address after --to cannot be read. Percent-encode special characters in user and password.',
  )
}

function incomplete(broker: string, what: string, form: string) {
  return usageError(`The address of ${broker} needs ${what}: ${form}`)
}
