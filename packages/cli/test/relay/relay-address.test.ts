import { deepEqual, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readRelayAddress } from '../../src/relay/relay-address.ts'

describe('the address of a relay', () => {
  it('is read for each kind of target', () => {
    deepEqual(readRelayAddress('kafka://a:9092,b:9093/orders'), {
      kafka: { brokers: ['a:9092', 'b:9093'], topic: 'orders' },
    })
    deepEqual(readRelayAddress('amqps://u:p@rabbit/shop?exchange=orders&routingKey=new&heartbeat=5'), {
      rabbitmq: { url: 'amqps://u:p@rabbit/shop?heartbeat=5', exchange: 'orders', routingKey: 'new' },
    })
    deepEqual(readRelayAddress('nats://u:p@nats:4222/orders.new?stream=ORDERS'), {
      nats: { servers: 'nats://u:p@nats:4222', subject: 'orders.new', stream: 'ORDERS' },
    })
    deepEqual(readRelayAddress('redis://r:6379/2?stream=orders'), {
      redisStreams: { url: 'redis://r:6379/2', stream: 'orders' },
    })
    deepEqual(readRelayAddress('https://example.com/hook?a=b'), {
      http: { url: 'https://example.com/hook?a=b', allowPrivateAddresses: true },
    })
    deepEqual(readRelayAddress('smtp://mail:587'), { mail: { smtp: 'smtp://mail:587' } })
  })

  it('that lacks a part is refused, and not quoted', () => {
    for (const address of [
      '',
      'kafka://a',
      'nats://u:geheim@n',
      'redis://u:geheim@r',
      'ftp://u:geheim@f',
      'amqp://u:geheim@[',
    ]) {
      throws(
        () => readRelayAddress(address),
        (error: Error) => !error.message.includes('geheim'),
      )
    }
  })
})
