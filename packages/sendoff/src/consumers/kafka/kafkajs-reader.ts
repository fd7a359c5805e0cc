import type { Reader } from '../message-consumer.ts'
import type { MessageRuns } from '../message-runs.ts'
import { Reconnection } from '../reconnection.ts'
import type { KafkajsBatchPayload, KafkajsConsumer, KafkajsCrash, KafkajsGroupJoin } from './kafka-client.ts'
import { kafkaRecord } from './kafka-record.ts'
import { type PartitionWork } from './partition-work.ts'
import { PartitionWorks } from './partition-works.ts'
import type { KafkaReaderOptions } from './platformatic-reader.ts'

/**
 * Reads with `kafkajs`. A batch counts as read as soon as the reader has its messages. So the client fetches
 * other partitions and sends heartbeats while handlers run. Offsets are committed separately.
 */
export class KafkajsReader implements Reader {
  readonly #consumer: KafkajsConsumer
  readonly #options: KafkaReaderOptions
  readonly #runs: MessageRuns
  readonly #works: PartitionWorks
  readonly #reconnection: Reconnection
  readonly #unsubscribe: (() => void)[] = []
  /** The error that has stopped the client for good. */
  #crash: Error | undefined

  constructor(consumer: KafkajsConsumer, runs: MessageRuns, options: KafkaReaderOptions) {
    this.#consumer = consumer
    this.#runs = runs
    this.#options = options
    this.#reconnection = new Reconnection(runs, () => this.#run())
    this.#works = new PartitionWorks(
      runs,
      {
        commit: (offsets) =>
          consumer.commitOffsets(
            offsets.map(({ topic, partition, offset }) => ({ topic, partition, offset: String(offset) })),
          ),
        hold: (work) => consumer.pause([placeOf(work)]),
        refill: (work) => consumer.resume([placeOf(work)]),
      },
      options,
    )
  }

  async start(): Promise<void> {
    const { topics, from } = this.#options
    if (this.#unsubscribe.length === 0) {
      this.#unsubscribe.push(
        this.#consumer.on('consumer.group_join', (event) => this.#joined(event)),
        this.#consumer.on('consumer.crash', (event) => this.#crashed(event)),
      )
    }
    await this.#consumer.connect()
    await this.#consumer.subscribe({ topics: [...topics], fromBeginning: from === 'earliest' })
    await this.#run()
  }

  async stop(): Promise<void> {
    this.#works.stop()
    // Otherwise the client would fetch the same messages again and again.
    this.#consumer.pause(this.#options.topics.map((topic) => ({ topic })))
  }

  async finish(): Promise<void> {
    try {
      await this.#works.finish()
    } finally {
      for (const unsubscribe of this.#unsubscribe) unsubscribe()
      await this.#consumer.stop()
    }
  }

  async #run(): Promise<void> {
    this.#crash = undefined
    await this.#consumer.connect()
    await this.#consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: 1,
      eachBatch: (payload) => this.#take(payload),
    })
    // The client reports a failed start only in this way.
    this.#throwCrash()
  }

  async #take(payload: KafkajsBatchPayload): Promise<void> {
    const { batch } = payload
    const { topic, partition } = batch
    const work = this.#works.of(topic, partition)
    if (work === undefined || this.#runs.closing.aborted || payload.isStale()) return
    for (const { offset, key, value, headers = {} } of batch.messages) {
      const record = {
        topic,
        partition,
        offset: BigInt(offset),
        key,
        value,
        headers: Object.entries(headers),
      }
      work.offer(kafkaRecord(record))
    }
    payload.resolveOffset(batch.lastOffset())
    this.#works.fill(work)
  }

  #joined({ payload }: KafkajsGroupJoin): void {
    this.#reconnection.restored()
    const places = Object.entries(payload.memberAssignment).flatMap(([topic, partitions]) =>
      partitions.map((partition) => ({ topic, partition })),
    )
    this.#works.assign(places)
    for (const work of this.#works.all()) this.#continue(work)
  }

  /**
   * After it has joined, the client begins at the committed offset. A partition that stayed goes on after
   * the messages that came already. This also drops batches that the client fetched before it joined.
   */
  #continue(work: PartitionWork): void {
    if (work.position === undefined) return
    const { topic, partition, position } = work
    this.#consumer.seek({ topic, partition, offset: String(position) })
  }

  #throwCrash(): void {
    if (this.#crash !== undefined) throw this.#crash
  }

  #crashed({ payload: { error, restart } }: KafkajsCrash): void {
    if (!restart) this.#crash = error
    this.#reconnection.lost(error, restart ? 'client' : 'us')
  }
}

function placeOf({ topic, partition }: PartitionWork): { topic: string; partitions: number[] } {
  return { topic, partitions: [partition] }
}
