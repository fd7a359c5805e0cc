import { OutboxError } from '../../errors.ts'
import type { Answers } from '../../answers.ts'
import type { SendResult } from '../broker-publisher.ts'
import type { KafkaMessage } from './kafka-message.ts'
import type { KafkaSender } from './kafka-sender.ts'

const mostGivenUp = 10

/**
 * Waits for a sender no longer than a batch may. Sends that were given up continue in the client, up to a
 * limited number.
 */
export class BoundedSender {
  readonly #sender: KafkaSender
  readonly #timeoutMs: number
  #givenUp = 0

  constructor(sender: KafkaSender, timeoutMs: number) {
    this.#sender = sender
    this.#timeoutMs = timeoutMs
  }

  get takesBatches(): boolean {
    return this.#sender.takesBatches
  }

  async send(messages: readonly KafkaMessage[], answers: Answers): Promise<readonly SendResult[]> {
    if (this.#givenUp >= mostGivenUp) {
      throw new OutboxError(
        'OUTBOX_BROKER_SILENT',
        `The Kafka client has not ended ${this.#givenUp} sends that took longer than ${this.#timeoutMs} ms.`,
      )
    }
    let isOver = false
    let isGivenUp = false
    const sent = this.#sender
      .send(messages, () => isGivenUp)
      .finally(() => {
        isOver = true
        if (isGivenUp) this.#givenUp--
      })
    try {
      return await answers.within(this.#timeoutMs, sent)
    } finally {
      if (!isOver) {
        isGivenUp = true
        this.#givenUp++
      }
    }
  }
}
