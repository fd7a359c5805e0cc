import { describeError } from '../../describe-error.ts'
import type { MessageRuns } from '../message-runs.ts'
import { type KafkaOrder, PartitionWork } from './partition-work.ts'

/** An offset of a partition to commit. */
export interface OffsetToCommit {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
}

/** The part of a client that the partitions use. */
export interface PartitionClient {
  /** Commits offsets for the group. */
  commit(offsets: readonly OffsetToCommit[]): Promise<void>
  /** Reads no further messages of a partition until `refill`. */
  hold(work: PartitionWork): void
  /** Reads a partition again. */
  refill(work: PartitionWork): void
}

/** Options of `PartitionWorks`. */
export interface PartitionWorksOptions {
  readonly order: KafkaOrder
  readonly maxBuffered: number
}

/** The pause between two commits of offsets. One commit covers all messages that ended in between. */
const commitEveryMs = 50

/**
 * The partitions that this process has, by the last report of the client. It commits offsets behind the
 * messages, and holds a partition whose messages come faster than they are done.
 */
export class PartitionWorks {
  readonly #runs: MessageRuns
  readonly #client: PartitionClient
  readonly #options: PartitionWorksOptions
  readonly #works = new Map<string, PartitionWork>()
  readonly #held = new Set<PartitionWork>()
  #committing: Promise<void> | undefined

  constructor(runs: MessageRuns, client: PartitionClient, options: PartitionWorksOptions) {
    this.#runs = runs
    this.#client = client
    this.#options = options
  }

  /**
   * Keeps the work of partitions that stay, and ends that of others. Their messages come again
   * to the new owner, who finds them done or busy.
   */
  assign(places: readonly { readonly topic: string; readonly partition: number }[]): void {
    const names = new Set(places.map(nameOf))
    for (const [name, work] of this.#works) {
      if (!names.has(name)) this.#end(name, work)
      else work.commitAgain()
    }
    for (const place of places) if (!this.#works.has(nameOf(place))) this.#begin(place)
    this.#commitSoon()
  }

  /** Returns the work of a partition; undefined if this process does not have it. */
  of(topic: string, partition: number): PartitionWork | undefined {
    return this.#works.get(nameOf({ topic, partition }))
  }

  all(): Iterable<PartitionWork> {
    return this.#works.values()
  }

  /** Whether any partition has as many messages as it may. */
  get isFull(): boolean {
    return this.#held.size > 0
  }

  /** Holds a partition if it has as many messages as it may. */
  fill(work: PartitionWork): void {
    if (work.size < this.#options.maxBuffered || this.#held.has(work)) return
    this.#held.add(work)
    this.#client.hold(work)
  }

  /** Begins no more messages. */
  stop(): void {
    for (const work of this.#works.values()) work.stop()
  }

  /** Commits what is done, once more. */
  async finish(): Promise<void> {
    await this.#committing
    await this.#commit()
  }

  #begin(place: { readonly topic: string; readonly partition: number }): void {
    const progress = (work: PartitionWork): void => {
      if (this.#held.has(work) && work.size <= this.#options.maxBuffered / 2) {
        this.#held.delete(work)
        if (!this.#runs.closing.aborted) this.#client.refill(work)
      }
      this.#commitSoon()
    }
    this.#works.set(nameOf(place), new PartitionWork(place, this.#runs, this.#options.order, progress))
  }

  #end(name: string, work: PartitionWork): void {
    work.stop()
    this.#works.delete(name)
    if (this.#held.delete(work)) this.#client.refill(work)
  }

  #commitSoon(): void {
    this.#committing ??= this.#commitOnce().finally(() => {
      this.#committing = undefined
      if (!this.#runs.closing.aborted && this.#uncommitted().length > 0) this.#commitSoon()
    })
  }

  async #commitOnce(): Promise<void> {
    try {
      await this.#commit()
      await this.#runs.wait(commitEveryMs)
    } catch (error) {
      this.#runs.reports.tell('warn', `${this.#runs.name}: commits of offsets failed`, () => [
        `${this.#runs.name}: offsets could not be committed, and will be later. ${describeError(error)}`,
        {},
      ])
      await this.#runs.wait(commitRetryMs)
    }
  }

  async #commit(): Promise<void> {
    const offsets = this.#uncommitted()
    if (offsets.length === 0) return
    await this.#client.commit(offsets)
    for (const { work, offset } of offsets) work.committed(offset)
  }

  #uncommitted(): (OffsetToCommit & { readonly work: PartitionWork })[] {
    return [...this.#works.values()].flatMap((work) => {
      const offset = work.uncommitted
      return offset === undefined ? [] : [{ topic: work.topic, partition: work.partition, offset, work }]
    })
  }
}

const commitRetryMs = 1_000

function nameOf({ topic, partition }: { readonly topic: string; readonly partition: number }): string {
  return `${topic}:${partition}`
}
