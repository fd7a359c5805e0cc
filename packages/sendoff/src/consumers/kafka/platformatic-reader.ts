import type { Reader } from '../message-consumer.ts'
import type { MessageRuns } from '../message-runs.ts'
import { Reconnection } from '../reconnection.ts'
import type { PlatformaticConsumer, PlatformaticMessage, PlatformaticStream } from './kafka-client.ts'
import { kafkaRecord } from './kafka-record.ts'
import { PartitionWorks, type PartitionWorksOptions } from './partition-works.ts'

/** Options of a reader of Kafka. */
export interface KafkaReaderOptions extends PartitionWorksOptions {
  readonly topics: readonly string[]
  readonly from: 'earliest' | 'latest'
}

/**
 * Reads with `@platformatic/kafka`. Each time the group changes, it opens a new stream, which begins at the
 * committed offsets. Messages that the old stream had read ahead may be of partitions that moved away and
 * back, so they are dropped.
 *
 * The client can only hold all partitions at once.
 */
export class PlatformaticReader implements Reader {
  readonly #consumer: PlatformaticConsumer
  readonly #options: KafkaReaderOptions
  readonly #runs: MessageRuns
  readonly #works: PartitionWorks
  readonly #reconnection: Reconnection
  readonly #onJoin = (): void => this.#joined()
  readonly #onError = (error: Error): void => this.#lost(error)
  #stream: PlatformaticStream | undefined
  #opening: Promise<void> | undefined

  constructor(consumer: PlatformaticConsumer, runs: MessageRuns, options: KafkaReaderOptions) {
    this.#consumer = consumer
    this.#runs = runs
    this.#options = options
    this.#reconnection = new Reconnection(runs, () => this.#open())
    this.#works = new PartitionWorks(
      runs,
      {
        commit: (offsets) =>
          consumer.commit({
            offsets: offsets.map(({ topic, partition, offset }) => ({
              topic,
              partition,
              offset,
              leaderEpoch: -1,
            })),
          }),
        hold: () => void this.#stream?.pause(),
        refill: () => this.#refill(),
      },
      options,
    )
  }

  async start(): Promise<void> {
    this.#consumer.removeListener('error', this.#onError)
    this.#consumer.removeListener('consumer:group:join', this.#onJoin)
    this.#consumer.on('error', this.#onError)
    this.#consumer.on('consumer:group:join', this.#onJoin)
    await this.#open()
  }

  async stop(): Promise<void> {
    this.#consumer.removeListener('consumer:group:join', this.#onJoin)
    this.#works.stop()
    this.#stream?.pause()
  }

  async finish(): Promise<void> {
    const stream = this.#stream
    this.#stream = undefined
    try {
      await this.#works.finish()
    } finally {
      await stream?.close()
      await this.#consumer.leaveGroup()
      this.#consumer.removeListener('error', this.#onError)
    }
  }

  /** Opens a stream, and closes the one before. The new one keeps the client in the group meanwhile. */
  #open(): Promise<void> {
    this.#opening ??= this.#openStream().finally(() => (this.#opening = undefined))
    return this.#opening
  }

  async #openStream(): Promise<void> {
    const old = this.#stream
    this.#stream = undefined
    const stream = await this.#consumer.consume({
      topics: [...this.#options.topics],
      autocommit: false,
      mode: 'committed',
      fallbackMode: this.#options.from,
    })
    if (old !== undefined) void discard(old)
    if (this.#runs.closing.aborted) await discard(stream)
    else this.#read(stream)
  }

  #read(stream: PlatformaticStream): void {
    this.#stream = stream
    this.#assign()
    stream.on('error', (error) => {
      if (this.#stream === stream) this.#lost(error)
    })
    stream.on('close', () => {
      if (this.#stream === stream) this.#lost(new Error('The stream was closed.'))
    })
    stream.on('data', (message) => {
      if (this.#stream === stream) this.#take(message)
    })
    // A stream also opens while the broker is away. Its first fetch tells, and an error follows at once.
    stream.on('fetch', () => {
      this.#runs.clock.defer(() => {
        if (this.#stream === stream) this.#reconnection.restored()
      })
    })
    if (this.#works.isFull) stream.pause()
  }

  #take({ topic, partition, offset, key, value, headers }: PlatformaticMessage): void {
    const work = this.#works.of(topic, partition)
    if (work === undefined) return
    work.offer(kafkaRecord({ topic, partition, offset, key, value, headers }))
    this.#works.fill(work)
  }

  #joined(): void {
    // While a stream opens, the client may join as a part of that, and the stream begins after it.
    if (this.#opening === undefined) this.#open().catch((error: unknown) => this.#lost(error))
  }

  #lost(error: unknown): void {
    const stream = this.#stream
    this.#stream = undefined
    if (stream !== undefined) void discard(stream)
    this.#reconnection.lost(error)
  }

  #assign(): void {
    const assignments = this.#consumer.assignments ?? []
    this.#works.assign(
      assignments.flatMap(({ topic, partitions }) =>
        this.#options.topics.includes(topic) ? partitions.map((partition) => ({ topic, partition })) : [],
      ),
    )
  }

  #refill(): void {
    if (!this.#works.isFull) this.#stream?.resume()
  }
}

/** Closes a stream whose messages are not wanted any more. */
async function discard(stream: PlatformaticStream): Promise<void> {
  stream.on('error', () => {})
  await stream.close().catch(() => {})
}
