import type { Clock } from '../clock.ts'
import type { Delivery } from '../delivery/delivery.ts'
import { laneKeyOf, nameOfLane, orderingKeyOf } from '../delivery/lane-key.ts'
import type { LanesToFill } from '../delivery/lanes-to-fill.ts'
import { partitionOfRow } from '../store/partition-of.ts'
import type { LaneAnswer, OrderedRow, OutboxLanes } from '../store/index.ts'
import { type LaneIntake, type LaneOffer, offerOf } from './lane-intake.ts'
import { KeyScan } from './key-scan.ts'
import type { Waker } from '../wake/waker.ts'
import type { NamedLock } from '../hold/named-lock.ts'
import type { PartitionHolding, PartitionKeeper } from '../hold/partition-keeper.ts'
import { noPending, type PendingBatch, type PendingSource } from './pending-source.ts'
import { WaitingKeys } from './waiting-keys.ts'

/** Options of `LaneSource`. */
export interface LaneSourceOptions {
  readonly intake: LaneIntake
  readonly clock: Clock
  readonly store: { readonly lanes: OutboxLanes<never> }
  readonly keeper: PartitionKeeper
  readonly lanes: LanesToFill
  readonly lock: NamedLock
  readonly skipWaiting: boolean
  /** Returns the destination whose rows it reads; undefined while the table has no others. */
  readonly destination: () => string | undefined
  /** Makes the poller poll again after some milliseconds. */
  readonly waker: Pick<Waker, 'wake'>
}

/** How many due rows one read scans for keys. This bounds its time, however many rows are due. */
const window = 4_000

/**
 * The longest pause between two scans from the start, in milliseconds. A scan may have taken long only
 * because its answer was late.
 */
const longestPauseMs = 5_000

/** If empty lanes want at least this many rows, only every fourth read scans for other keys as well. */
const richRead = 500
const looksApart = 4

/** After this many milliseconds, the source again reads a lane that it could not fill. */
const lostRowMs = 50

/** How many rows one read brings for a lane at most, so that no lane takes all the room. */
const maxDepth = 100

/** The fewest rows to read of each key. For a key with one event, two show that there is no other. */
const leastDepth = 2

/**
 * The rows of keys in this process's partitions, read without claims.
 *
 * A scan of due rows finds keys. Each key becomes a lane, filled from its first pending row. Whenever a lane
 * runs empty, the source fills it again by its key, without a scan.
 */
export class LaneSource implements PendingSource {
  readonly #options: LaneSourceOptions
  readonly #waiting: WaitingKeys
  readonly #looks: KeyScan
  /**
   * How many rows to read of each key. It doubles after most keys had that many, and halves after most had
   * fewer.
   */
  #depth = 4
  #richReads = 0
  readonly #known = new WeakSet<PartitionHolding>()
  /** How often the source forgot its waiting keys. */
  #forgotten = 0

  constructor(options: LaneSourceOptions) {
    this.#options = options
    this.#waiting = new WaitingKeys(options.clock)
    this.#looks = new KeyScan(options.clock, longestPauseMs)
  }

  async fetch(limit: number, hasNews: boolean): Promise<PendingBatch> {
    const { store, keeper, lock, lanes, clock, skipWaiting } = this.#options
    await keeper.ready
    const holdings = new Map(keeper.active.map((holding) => [holding.partition, holding]))
    if (holdings.size === 0) return noPending

    if (this.#hasGained(holdings.values())) this.#looks.startOver()
    if (hasNews) this.#beginLook()
    const fill = this.#lanesToFill(Math.max(1, Math.floor(limit / this.#depth)))
    const from = this.#placeToLook(fill.length)
    // With this many rows queued there is no hurry: the poller continues when half of them are done, or a
    // lane has run empty.
    const isAmple = lanes.length > lanes.capacity >> 1
    if (fill.length === 0 && (from === 'nowhere' || isAmple)) return noPending

    const renewal = lock.dueRenewal
    const askedAt = clock.monotonic()
    const destination = this.#options.destination()
    const finding = Math.max(1, Math.floor(limit / this.#depth) - fill.length)
    const forgotten = this.#forgotten
    const answer = await store.lanes.read({
      owner: lock.fence,
      partitions: [...holdings.keys()],
      keys: fill,
      except: from === 'nowhere' ? [] : [...[...lanes.keys].map(nameOfLane), ...this.#waiting.names],
      ...(typeof from === 'object' && { from }),
      window: from === 'nowhere' ? 0 : window,
      limit: from === 'nowhere' ? 0 : finding,
      perKey: this.#depth,
      skipWaiting,
      ...(destination !== undefined && { destination }),
      ...(renewal && { renewMs: renewal.ttlMs }),
    })
    if (answer === undefined) return this.#lost()
    renewal?.done()
    if (from !== 'nowhere') {
      this.#looks.cameTo(answer.next, answer.rows.length === 0 ? clock.monotonic() - askedAt : 0)
      if (this.#looks.isWantedAgain) this.#beginLook()
    }

    const deliveries = await this.#take(answer, fill, holdings, limit)
    // An operator has decided about a key meanwhile. This read may have been too early to see it.
    if (this.#forgotten > forgotten) this.#waiting.clear()
    if (deliveries === undefined) return this.#lost()
    return { deliveries, hasMore: this.#looks.from !== 'nowhere' || lanes.hasEmptyLanes }
  }

  forgetWaiting(): void {
    this.#forgotten++
    this.#waiting.clear()
  }

  /** Whether a partition is new since the last call: its rows may lie before the place of the scan. */
  #hasGained(holdings: Iterable<PartitionHolding>): boolean {
    let hasGained = false
    for (const holding of holdings) {
      hasGained ||= !this.#known.has(holding)
      this.#known.add(holding)
    }
    return hasGained
  }

  #beginLook(): void {
    this.#options.lanes.scanBegins()
    const waitMs = this.#looks.begin()
    if (waitMs !== undefined) this.#options.waker.wake(waitMs)
  }

  #placeToLook(lanesToFill: number): KeyScan['from'] {
    const isRich = lanesToFill * this.#depth >= richRead
    this.#richReads = isRich ? (this.#richReads + 1) % looksApart : 0
    return this.#richReads === 0 ? this.#looks.from : 'nowhere'
  }

  #lanesToFill(count: number): readonly string[] {
    const { lanes } = this.#options
    return lanes.emptyLanes(count).filter((key) => {
      const hasKey = orderingKeyOf(key) !== undefined
      if (!hasKey) lanes.expectMore(key, false)
      return hasKey
    })
  }

  async #take(
    { rows }: LaneAnswer,
    fill: readonly string[],
    holdings: ReadonlyMap<number, PartitionHolding>,
    limit: number,
  ): Promise<readonly Delivery[] | undefined> {
    const { intake, keeper, lanes } = this.#options
    const read = Map.groupBy(rows, laneKeyOf)
    let room = limit
    const offers = [...read].flatMap(([key, ofLane]) => {
      const holding = holdings.get(partitionOfRow(ofLane[0]!))
      if (holding === undefined || !keeper.isActive(holding)) return []
      const offer = offerOf(ofLane, ofLane.length < this.#depth || !isKeyed(ofLane), room)
      room -= offer.ready.length
      return [{ key, holding, ...offer }]
    })
    const asked = new Set(fill)
    const isFinding = [...read.keys()].some((key) => !asked.has(key))
    this.#learnDepth([...read.values()].filter(isKeyed), isFinding)

    const taken = await intake.take(offers)
    if (taken === undefined) return undefined
    offers.forEach((offer, index) => this.#sort(offer, taken[index]!))
    // The store returned no rows for these lanes: their keys are done, or another process owns them.
    const offered = new Set(offers.map(({ key }) => key))
    for (const key of fill) if (!offered.has(key)) lanes.expectMore(key, false)
    return taken.flat()
  }

  #sort(
    { key, waitMs, hasMore, ready }: LaneOffer & { readonly key: string },
    taken: readonly Delivery[],
  ): void {
    const { lanes, waker } = this.#options
    if (waitMs !== undefined) {
      lanes.expectMore(key, false)
      this.#waiting.add(key, waitMs)
      if (waitMs < Infinity) waker.wake(Math.max(1, waitMs))
    } else if (taken.length < ready.length) {
      // Another process has taken a row that was free a moment ago.
      lanes.expectMore(key, false)
      waker.wake(lostRowMs)
    } else {
      // If there was no room, the lane is filled next.
      lanes.expectMore(key, hasMore)
    }
  }

  // Finding keys comes first: no lane is filled deeper while scans find others.
  #learnDepth(lanes: readonly (readonly OrderedRow[])[], isFinding: boolean): void {
    if (lanes.length === 0) return
    const { capacity, laneCount } = this.#options.lanes
    const full = lanes.filter((rows) => rows.length >= this.#depth).length / lanes.length
    const wanted = full > 0.5 && !isFinding ? this.#depth * 2 : full < 0.25 ? this.#depth >> 1 : this.#depth
    const most = Math.min(maxDepth, Math.floor(capacity / Math.max(1, laneCount)))
    this.#depth = Math.max(leastDepth, Math.min(most, wanted))
  }

  #lost(): PendingBatch {
    this.#options.lock.lost()
    return noPending
  }
}

function isKeyed(rows: readonly OrderedRow[]): boolean {
  return rows[0]!.orderingKey !== null
}
