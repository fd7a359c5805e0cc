import { deepEqual, rejects } from 'node:assert/strict'
import { it } from 'node:test'
import { Answers } from '../../../src/answers.ts'
import type { SendResult } from '../../../src/publishers/broker-publisher.ts'
import { BoundedSender } from '../../../src/publishers/kafka/bounded-sender.ts'
import { silenceOf } from '../../../src/publishers/silence.ts'

it('a client that ends no send gets no more after ten given-up sends, until one has ended', async () => {
  const sends: PromiseWithResolvers<readonly SendResult[]>[] = []
  const client = {
    takesBatches: true,
    send() {
      const sent = Promise.withResolvers<readonly SendResult[]>()
      sends.push(sent)
      return sent.promise
    },
  }
  const sender = new BoundedSender(client, 5)
  const answers = new Answers(silenceOf('Kafka'))
  for (let tries = 0; tries < 15; tries++) {
    await rejects(sender.send([], answers), { code: 'OUTBOX_BROKER_SILENT' })
  }
  deepEqual(sends.length, 10)

  sends[3]!.resolve(['acknowledged'])
  await sends[3]!.promise
  const sent = sender.send([], answers)
  sends[10]!.resolve(['acknowledged'])
  deepEqual(await sent, ['acknowledged'])
  answers.end()
})
