import { inTime } from '../../answers.ts'
import { silenceOf } from '../silence.ts'
import type { RabbitmqMessage, RabbitmqSender } from './rabbitmq-message.ts'

/**
 * Sends one message after another, alone on its channel. A bad message closes its channel, and all other
 * messages on that channel are lost with it. Here it is clear which message was bad.
 *
 * A message whose turn does not come within its time is not sent, because its publisher has stopped waiting.
 */
export class OneByOneSender implements RabbitmqSender {
  readonly #open: () => RabbitmqSender
  readonly #timeoutMs: number
  #sender: RabbitmqSender | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(open: () => RabbitmqSender, timeoutMs: number) {
    this.#open = open
    this.#timeoutMs = timeoutMs
  }

  send(message: RabbitmqMessage): Promise<void> {
    const deadline = performance.now() + this.#timeoutMs
    const sent = this.#last.then(() => this.#sendWithin(deadline - performance.now(), message))
    this.#last = sent.catch(() => {})
    return sent
  }

  async close(): Promise<void> {
    await this.#sender?.close()
  }

  async #sendWithin(leftMs: number, message: RabbitmqMessage): Promise<void> {
    if (leftMs <= 0) throw new Error('Other messages that had to be sent one by one took too long.')

    try {
      const sender = (this.#sender ??= this.#open())
      await inTime(leftMs, () => sender.send(message), { tooLate: silenceOf('RabbitMQ') })
    } catch (error) {
      // Whatever the fault was, it must not affect the next message.
      const lost = this.#sender
      this.#sender = undefined
      lost?.close().catch(() => {})
      throw error
    }
  }
}
