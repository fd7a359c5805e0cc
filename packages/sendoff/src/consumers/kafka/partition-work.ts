import type { IncomingMessage } from '../incoming-message.ts'
import type { MessageRuns } from '../message-runs.ts'

/** Which messages of a partition wait for one another. */
export type KafkaOrder = 'key' | 'partition' | 'none'

/** A message of Kafka with its place. */
export interface KafkaRecord {
  readonly offset: bigint
  readonly message: IncomingMessage
}

/**
 * The messages of one partition that this process has to process.
 *
 * Messages of one lane run one after another, and a failing one is tried again in place: the rest of its lane
 * waits, and other lanes go on. The offset to commit is that of the oldest message that is not done.
 */
export class PartitionWork {
  readonly topic: string
  readonly partition: number
  /** The offset after the last message that came. Messages before it are running, waiting or done. */
  position: bigint | undefined
  /** The number of messages since the oldest one that is not done. */
  get size(): number {
    return this.#records.length
  }

  readonly #runs: MessageRuns
  readonly #order: KafkaOrder
  readonly #onProgress: (work: PartitionWork) => void
  readonly #stop = new AbortController()
  /** In the order of their offsets. Those at the front are dropped as soon as they are done. */
  readonly #records: Entry[] = []
  readonly #lanes = new Map<unknown, Entry[]>()
  #committed: bigint | undefined

  constructor(
    place: { readonly topic: string; readonly partition: number },
    runs: MessageRuns,
    order: KafkaOrder,
    onProgress: (work: PartitionWork) => void,
  ) {
    this.topic = place.topic
    this.partition = place.partition
    this.#runs = runs
    this.#order = order
    this.#onProgress = onProgress
  }

  /** Takes a message, unless it has come before. */
  offer({ offset, message }: KafkaRecord): void {
    if (this.#stop.signal.aborted || (this.position !== undefined && offset < this.position)) return
    this.position = offset + 1n
    const entry: Entry = { offset, message, isDone: false }
    this.#records.push(entry)
    const name = this.#laneOf(entry)
    const lane = this.#lanes.get(name)
    if (lane !== undefined) {
      lane.push(entry)
      return
    }
    const begun = [entry]
    this.#lanes.set(name, begun)
    void this.#runLane(name, begun)
  }

  /** Returns the offset to commit; undefined if nothing is new. */
  get uncommitted(): bigint | undefined {
    const offset = this.#records[0]?.offset ?? this.position
    return offset === this.#committed || this.#isUntouched ? undefined : offset
  }

  /** Records that an offset was committed. */
  committed(offset: bigint): void {
    this.#committed = offset
  }

  /** Forgets what was committed, so that it is committed again. */
  commitAgain(): void {
    this.#committed = undefined
  }

  /** Begins no more messages. The partition has another owner, or the consumer closes. */
  stop(): void {
    this.#stop.abort()
  }

  #isUntouched = true

  #laneOf(entry: Entry): unknown {
    if (this.#order === 'none') return entry
    return this.#order === 'partition' ? null : entry.message.key
  }

  async #runLane(name: unknown, lane: Entry[]): Promise<void> {
    for (let entry = lane[0]; entry !== undefined; entry = lane[0]) {
      if (!(await this.#runs.runUntilDone(entry.message, this.#stop.signal))) return
      lane.shift()
      this.#done(entry)
    }
    this.#lanes.delete(name)
  }

  #done(entry: Entry): void {
    entry.isDone = true
    if (this.#records[0] !== entry) return
    const next = this.#records.findIndex(({ isDone }) => !isDone)
    this.#records.splice(0, next < 0 ? this.#records.length : next)
    this.#isUntouched = false
    this.#onProgress(this)
  }
}

interface Entry extends KafkaRecord {
  isDone: boolean
}
