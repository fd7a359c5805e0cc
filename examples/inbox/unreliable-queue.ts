/** A message with the id that its sender gave it. */
export interface QueueMessage<Body> {
  readonly id: string
  readonly body: Body
}

/** A queue that delivers at least once, as every broker does: each fourth message comes twice. */
export class UnreliableQueue<Body> {
  readonly #messages: QueueMessage<Body>[] = []
  #sent = 0
  /** How many deliveries there were. */
  delivered = 0

  send(message: QueueMessage<Body>): void {
    this.#messages.push(message)
    this.#sent += 1
    if (this.#sent % 4 === 0) this.#messages.push(message)
  }

  /** Returns the next message; undefined if there is none. */
  take(): QueueMessage<Body> | undefined {
    const message = this.#messages.shift()
    if (message !== undefined) this.delivered += 1
    return message
  }

  /** Takes back a message that a consumer did not acknowledge. */
  returnUnacknowledged(message: QueueMessage<Body>): void {
    this.#messages.push(message)
  }
}
