import type { Delivery } from './delivery.ts'
import type { DeliveryQueue } from './delivery-queue.ts'
import type { LanesToFill } from './lanes-to-fill.ts'

const none: readonly Delivery[] = []

interface Lane {
  readonly key: string
  readonly partition: number
  waiting: Delivery[]
  /** The deliveries under way: from `take` to `endTurn`. */
  readonly running: Delivery[]
  /** Whether the store may have more rows for the lane than were offered. */
  hasMore: boolean
  /** How many key scans had begun when a source last asked the store for the lane. */
  askedAfter: number
  /**
   * Whether the lane may begin no delivery, because one that was under way has to be delivered again first.
   */
  isStopped: boolean
  state: LaneState
}

/**
 * `ready`: its next delivery can be taken. `busy`: a delivery is under way. `empty`: it has no delivery, and
 * a source has to ask the store for more. The store may have more rows, or a key scan has skipped the lane
 * since the last request. `over`: the queue can forget it.
 */
type LaneState = 'ready' | 'busy' | 'empty' | 'over'

/** Options of `LaneQueue`. */
export interface LaneQueueOptions {
  readonly capacity: number
  /** Returns the lane of a delivery. Deliveries of one lane run one after another. */
  readonly laneOf: (delivery: Delivery) => string
  /** Returns the partition of a lane. A worker gives up the lanes of one partition together. */
  readonly partitionOf: (laneKey: string) => number
  /** Called when a lane has run empty and the store may have more rows for it. */
  readonly onEmptyLane?: () => void
}

/**
 * A bounded queue of lanes. Each lane has one delivery, or one batch, under way at a time. When that turn has
 * ended, its next delivery can be taken. Lanes take turns, so that a long lane holds up no other.
 *
 * The dispatcher controls the queue. Sources see it as `LanesToFill`.
 */
export class LaneQueue implements DeliveryQueue, LanesToFill {
  readonly capacity: number
  readonly #options: LaneQueueOptions
  readonly #lanes = new Map<string, Lane>()
  /** Lanes in the state `ready`. The first has the next turn. */
  readonly #ready = new Set<Lane>()
  readonly #empty = new Set<string>()
  readonly #countByPartition = new Map<number, number>()
  #length = 0
  #scans = 0

  constructor(options: LaneQueueOptions) {
    this.#options = options
    this.capacity = options.capacity
  }

  get length(): number {
    return this.#length
  }

  get room(): number {
    return this.capacity - this.#length
  }

  get keys(): Iterable<string> {
    return this.#lanes.keys()
  }

  get laneCount(): number {
    return this.#lanes.size
  }

  has(key: string): boolean {
    return this.#lanes.has(key)
  }

  offer(delivery: Delivery): boolean {
    if (this.room <= 0) return false
    const lane = this.#laneOf(this.#options.laneOf(delivery))
    lane.waiting.push(delivery)
    this.#length += 1
    this.#sort(lane)
    return true
  }

  expectMore(key: string, hasMore: boolean): void {
    const lane = this.#laneOf(key)
    lane.hasMore = hasMore
    this.#sort(lane)
  }

  scanBegins(): void {
    this.#scans += 1
  }

  emptyLanes(count: number): string[] {
    const keys = [...this.#empty].slice(0, count)
    for (const key of keys) this.#lanes.get(key)!.askedAfter = this.#scans
    return keys
  }

  get hasEmptyLanes(): boolean {
    return this.#empty.size > 0
  }

  peek(after?: Delivery): Delivery | undefined {
    return this.#nextLane(after)?.waiting[0]
  }

  take(after?: Delivery): Delivery | undefined {
    const lane = this.#nextLane(after)
    const delivery = lane?.waiting.shift()
    if (lane === undefined || delivery === undefined) return undefined

    this.#length -= 1
    lane.running.push(delivery)
    this.#sort(lane)
    return delivery
  }

  /**
   * Ends the turn that `take` began. The lane continues, or is given up. If it is given up, returns the
   * deliveries that waited in it: they must not run before this one is delivered again.
   */
  endTurn(delivery: Delivery, continues: boolean): readonly Delivery[] {
    const lane = this.#lanes.get(this.#options.laneOf(delivery))
    if (lane === undefined || !remove(lane.running, delivery)) return none

    if (continues) {
      this.#sort(lane)
      return none
    }
    lane.isStopped = true
    return this.#drop(lane)
  }

  /** Whether the queue has lanes of a partition. */
  hasPartition(partition: number): boolean {
    return this.#countByPartition.has(partition)
  }

  /**
   * Takes the waiting deliveries of a partition. Its lanes end as soon as none of their deliveries is under
   * way.
   */
  takePartition(partition: number): Delivery[] {
    if (!this.hasPartition(partition)) return []
    return this.#give([...this.#lanes.values()].filter((lane) => lane.partition === partition))
  }

  takeAll(): Delivery[] {
    return this.#give([...this.#lanes.values()])
  }

  #give(lanes: readonly Lane[]): Delivery[] {
    return lanes.flatMap((lane) => {
      lane.isStopped = true
      return this.#drop(lane)
    })
  }

  #laneOf(key: string): Lane {
    const known = this.#lanes.get(key)
    if (known !== undefined) return known

    const partition = this.#options.partitionOf(key)
    const lane: Lane = {
      key,
      partition,
      waiting: [],
      running: [],
      hasMore: false,
      askedAfter: this.#scans,
      isStopped: false,
      state: 'over',
    }
    this.#lanes.set(key, lane)
    this.#countByPartition.set(partition, (this.#countByPartition.get(partition) ?? 0) + 1)
    return lane
  }

  // A batch first takes the deliveries that follow in the lane it began with.
  #nextLane(after: Delivery | undefined): Lane | undefined {
    if (after !== undefined) {
      const lane = this.#lanes.get(this.#options.laneOf(after))
      if (lane !== undefined && lane.waiting.length > 0 && !lane.isStopped) return lane
    }
    return this.#ready.values().next().value
  }

  #drop(lane: Lane): Delivery[] {
    const { waiting } = lane
    lane.waiting = []
    lane.hasMore = false
    this.#length -= waiting.length
    this.#sort(lane)
    return waiting
  }

  /** Updates the state of a lane after a change. */
  #sort(lane: Lane): void {
    const state = this.#stateOf(lane)
    if (state === lane.state && state !== 'over') return

    if (lane.state === 'ready') this.#ready.delete(lane)
    else if (lane.state === 'empty') this.#empty.delete(lane.key)
    lane.state = state
    if (state === 'ready') this.#ready.add(lane)
    else if (state === 'over') this.#forget(lane)
    else if (state === 'empty') {
      this.#empty.add(lane.key)
      this.#options.onEmptyLane?.()
    }
  }

  #stateOf({ waiting, running, hasMore, askedAfter, isStopped }: Lane): LaneState {
    if (running.length > 0) return 'busy'
    if (waiting.length > 0) return 'ready'
    return !isStopped && (hasMore || askedAfter < this.#scans) ? 'empty' : 'over'
  }

  #forget({ key, partition }: Lane): void {
    if (!this.#lanes.delete(key)) return
    const count = this.#countByPartition.get(partition)! - 1
    if (count === 0) this.#countByPartition.delete(partition)
    else this.#countByPartition.set(partition, count)
  }
}

// There is mostly one entry. A set would allocate again every few changes.
function remove(running: Delivery[], delivery: Delivery): boolean {
  const index = running.indexOf(delivery)
  if (index === -1) return false
  const last = running.pop()!
  if (last !== delivery) running[index] = last
  return true
}
