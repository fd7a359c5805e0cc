import type { ConsumerOptions, MessageConsumer } from '../../src/consumers/shared.ts'
import type { Publisher } from '../../src/publisher.ts'

/** A broker with one of its clients. */
export interface ConsumedBroker {
  /** Creates a destination with `partitions`, if the broker has such. */
  makeDestination(name: string, partitions?: number): Promise<string>
  /** Returns a publisher to a destination. */
  publisher(destination: string): Promise<Publisher>
  /** Sends a message without an id. */
  sendWithoutId(destination: string): Promise<void>
  /** Returns a consumer with a client of its own, which ends with it. `through` is another address of the broker. */
  consumer(destination: string, options: ConsumerOptions<any>, through?: string): Promise<MessageConsumer>
  /** Returns how many messages of a destination are not acknowledged, while no consumer is open. */
  unacknowledged(destination: string): Promise<number>
  close(): Promise<void>
}

/** What a module of a broker exports, so that a process of its own can open it, too. */
export interface BrokerModule {
  openBroker(url: string): Promise<ConsumedBroker>
}

/** Returns a consumer that closes its client after itself. */
export function closingClient(consumer: MessageConsumer, closeClient: () => unknown): MessageConsumer {
  let closed: Promise<unknown> | undefined
  return {
    async start() {
      await consumer.start()
      return this
    },
    async close() {
      closed ??= consumer.close().then(closeClient)
      await closed
    },
    async [Symbol.asyncDispose]() {
      await this.close()
    },
  }
}
