import type { RabbitmqMessage, RabbitmqSender } from './rabbitmq-message.ts'

/**
 * Sends one message after another over a channel that has no other. A mistake in a message closes its channel, and
 * all that was on its way there is lost with it: here it is plain whose mistake it was.
 */
export class OneByOneSender implements RabbitmqSender {
  readonly #open: () => RabbitmqSender
  #sender: RabbitmqSender | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(open: () => RabbitmqSender) {
    this.#open = open
  }

  send(message: RabbitmqMessage): Promise<void> {
    const sent = this.#last.then(() => (this.#sender ??= this.#open()).send(message))
    this.#last = sent.catch(() => {})
    return sent
  }

  async close(): Promise<void> {
    await this.#sender?.close()
  }
}
