import { equal } from 'node:assert/strict'
import { it } from 'node:test'
import { kafkaVerdict } from '../../../src/publishers/kafka/kafka-verdict.ts'

const errors: readonly [what: string, fields: object, verdict: string][] = [
  ['a number of librdkafka for an unknown topic', { code: -188 }, 'retry'],
  ['a number of librdkafka for an unknown partition', { code: -190 }, 'retry'],
  ['a number of librdkafka for a message without a reply', { code: -192 }, 'unavailable'],
  [
    'the name that @confluentinc/kafka-javascript has for an unknown topic',
    { code: 3, type: 'ERR_UNKNOWN_TOPIC_OR_PART' },
    'retry',
  ],
  ['the name that kafkajs has for a large message', { type: 'MESSAGE_TOO_LARGE' }, 'fatal'],
  ['the name that @platformatic/kafka has for it', { apiId: 'MESSAGE_TOO_LARGE' }, 'fatal'],
  ['no connection', { code: 'ECONNREFUSED' }, 'unavailable'],
]

for (const [what, fields, verdict] of errors) {
  it(`${what}: ${verdict}`, () => equal(kafkaVerdict(Object.assign(new Error(what), fields)), verdict))
}
