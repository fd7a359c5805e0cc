import type { Delivery } from './delivery.ts'
import type { DeliveryQueue } from './delivery-queue.ts'

interface Lane {
  readonly key: string
  readonly partition: number
  waiting: Delivery[]
  /** Those under way: from `take` to `release`. */
  readonly running: Delivery[]
  /** Whether the store has, or may have, more rows for it than were offered. */
  hasMore: boolean
  /** How many looks for keys there had been when the store was asked for it last. */
  askedAfter: number
  /** Nothing of it is started any more: one of those under way has to be delivered again first. */
  isStopped: boolean
  state: LaneState
}

/**
 * `ready`: one of its deliveries can be handed out. `busy`: one is under way. `empty`: the store may have more for
 * it, also where a look for keys has passed it over since it was asked. `over`: there is no reason to know it.
 */
type LaneState = 'ready' | 'busy' | 'empty' | 'over'

export interface LaneQueueOptions {
  readonly capacity: number
  /** Deliveries of one lane run one after another. */
  readonly laneOf: (delivery: Delivery) => string
  /** Lanes of one partition can be given away together. */
  readonly partitionOf: (laneKey: string) => number
  /** Called when a lane has run out of deliveries that the store may have more of. */
  readonly onEmptyLane?: () => void
}

/**
 * A bounded queue of lanes. Of each lane one delivery is under way at a time, or one batch, and the next is not handed out before that one was
 * released: settled for good, that is. Lanes take turns, so that a long one holds up no other.
 */
export class LaneQueue implements DeliveryQueue {
  readonly capacity: number
  readonly #options: LaneQueueOptions
  readonly #lanes = new Map<string, Lane>()
  /** Lanes with deliveries of which none is under way, by whose turn it is. */
  readonly #ready = new Set<Lane>()
  readonly #empty = new Set<string>()
  readonly #countByPartition = new Map<number, number>()
  #length = 0
  #looks = 0

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

  /** The lanes that are not to be filled from elsewhere: everything they have to offer is known, or asked for. */
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

  /** Says of a lane whether the store may have more for it. One without deliveries is then there to be filled. */
  expectMore(key: string, hasMore: boolean): void {
    const lane = this.#laneOf(key)
    lane.hasMore = hasMore
    this.#sort(lane)
  }

  /** There is a look for keys that passes over those that are known: the store is asked for each of these once more before it is over. */
  lookPasses(): void {
    this.#looks += 1
  }

  /** Up to `count` lanes that have run empty, to ask the store for. They stay known until they are filled, or `expectMore` says that nothing comes. */
  emptyLanes(count: number): string[] {
    const keys = [...this.#empty].slice(0, count)
    for (const key of keys) this.#lanes.get(key)!.askedAfter = this.#looks
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
   * Ends what `take` began. The lane goes on where nothing has to be repeated; otherwise it is given up, and what waited in it is
   * returned: it is not to be run before that.
   */
  release(delivery: Delivery, goesOn: boolean): readonly Delivery[] {
    const lane = this.#lanes.get(this.#options.laneOf(delivery))
    if (lane === undefined || !remove(lane.running, delivery)) return []

    if (goesOn) {
      this.#sort(lane)
      return []
    }
    lane.isStopped = true
    return this.#drop(lane)
  }

  /** Whether there are lanes of a partition. */
  hasPartition(partition: number): boolean {
    return this.#countByPartition.has(partition)
  }

  /** Takes out what waits in the lanes of a partition, which end as soon as nothing of them is under way. */
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
      askedAfter: this.#looks,
      isStopped: false,
      state: 'over',
    }
    this.#lanes.set(key, lane)
    this.#countByPartition.set(partition, (this.#countByPartition.get(partition) ?? 0) + 1)
    return lane
  }

  // A batch first takes what follows in the lane that it began with.
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

  /** Puts a lane where it belongs after a change. */
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
    return !isStopped && (hasMore || askedAfter < this.#looks) ? 'empty' : 'over'
  }

  #forget({ key, partition }: Lane): void {
    if (!this.#lanes.delete(key)) return
    const count = this.#countByPartition.get(partition)! - 1
    if (count === 0) this.#countByPartition.delete(partition)
    else this.#countByPartition.set(partition, count)
  }
}

// Mostly there is one. A set would make itself anew every few times.
function remove(running: Delivery[], delivery: Delivery): boolean {
  const index = running.indexOf(delivery)
  if (index === -1) return false
  const last = running.pop()!
  if (last !== delivery) running[index] = last
  return true
}
