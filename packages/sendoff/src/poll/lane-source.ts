import type { Delivery } from '../delivery/delivery.ts'
import { laneKeyOf, nameOfLane, orderingKeyOf } from '../delivery/lane-key.ts'
import type { LanesToFill } from '../delivery/lanes-to-fill.ts'
import { partitionOfRow } from '../event/partition.ts'
import type { DuePlace, LaneAnswer, OrderedRow, OutboxPartitions } from '../store/index.ts'
import { LaneIntake, type LaneIntakeOptions, type LaneOffer, offerOf } from './lane-intake.ts'
import { KeyScan } from './key-scan.ts'
import type { NamedLock } from '../hold/named-lock.ts'
import type { PartitionHolding, PartitionKeeper } from '../hold/partition-keeper.ts'
import { noPending, type PendingBatch, type PendingSource } from './pending-source.ts'
import { WaitingKeys } from './waiting-keys.ts'

export interface LaneSourceOptions extends LaneIntakeOptions {
  readonly partitions: OutboxPartitions
  readonly keeper: PartitionKeeper
  readonly lanes: LanesToFill
  readonly lock: NamedLock
  readonly skipWaiting: boolean
  /** Asks the poller to poll again after some time. */
  readonly wakePoller: (inMs: number) => void
}

/** How many due rows one read scans for keys, so that no read takes long however many are due. */
const window = 4_000

/** While the known lanes have so many rows to bring, only every fourth read scans for other keys. */
const richRead = 500
const scansApart = 4

/** Poll interval for a lane that could not be filled. */
const lostRowMs = 50

/** A lane is filled with so many rows at most, so that none takes all the room. */
const maxDepth = 100

/** Of a key that has one event, this tells that there is no other. */
const leastDepth = 2

/**
 * The rows of keys whose partitions belong to this process, read without claims.
 *
 * A scan through due rows finds keys. Each becomes a lane, filled from the key's first pending row, and filled again whenever it
 * has run empty, without another scan.
 */
export class LaneSource implements PendingSource {
  readonly #options: LaneSourceOptions
  readonly #intake: LaneIntake
  readonly #waiting: WaitingKeys
  readonly #scan: KeyScan
  /** How many rows to read of each key: twice as many after most had that many, and half as many after most had fewer. */
  #depth = 4
  #richReads = 0

  constructor(options: LaneSourceOptions) {
    this.#options = options
    this.#intake = new LaneIntake(options)
    this.#waiting = new WaitingKeys(options.clock)
    this.#scan = new KeyScan(options.clock)
  }

  async fetch(limit: number, _place: DuePlace | undefined, hasNews: boolean): Promise<PendingBatch> {
    const { keeper, lock, partitions, lanes, clock, skipWaiting } = this.#options
    await keeper.ready
    const holdings = new Map(keeper.active.map((holding) => [holding.partition, holding]))
    if (holdings.size === 0) return noPending

    if (hasNews) this.#beginScan()
    const fill = this.#lanesToFill(Math.max(1, Math.floor(limit / this.#depth)))
    const from = this.#placeToScan(fill.length)
    // So many deliveries give time: the poller resumes when half of them are through, or a lane has run empty.
    const isAmple = lanes.length > lanes.capacity >> 1
    if (fill.length === 0 && (from === 'nowhere' || isAmple)) return noPending

    const renewal = lock.dueRenewal
    const askedAt = clock.monotonic()
    const finding = Math.max(1, Math.floor(limit / this.#depth) - fill.length)
    const answer = await partitions.read({
      owner: lock.fence,
      partitions: [...holdings.keys()],
      keys: fill,
      except: from === 'nowhere' ? [] : [...[...lanes.keys].map(nameOfLane), ...this.#waiting.names],
      ...(typeof from === 'object' && { from }),
      window: from === 'nowhere' ? 0 : window,
      limit: from === 'nowhere' ? 0 : finding,
      perKey: this.#depth,
      skipWaiting,
      ...(renewal && { renewMs: renewal.ttlMs }),
    })
    if (answer === undefined) return this.#lost()
    renewal?.done()
    if (from !== 'nowhere') {
      this.#scan.cameTo(answer.next, answer.rows.length === 0 ? clock.monotonic() - askedAt : 0)
      if (this.#scan.isWantedAgain) this.#beginScan()
    }

    const deliveries = await this.#take(answer, fill, holdings, limit)
    if (deliveries === undefined) return this.#lost()
    const hasMore = this.#scan.from !== 'nowhere' || lanes.hasEmptyLanes
    return { deliveries, next: hasMore ? somewhere : undefined }
  }

  forgetWaiting(): void {
    this.#waiting.clear()
  }

  async recordHeld(): Promise<void> {
    const { lock } = this.#options
    if (lock.holding !== undefined) await this.#intake.recordHeld(lock.fence)
  }

  #beginScan(): void {
    this.#options.lanes.scanBegins()
    const waitMs = this.#scan.begin()
    if (waitMs !== undefined) this.#options.wakePoller(waitMs)
  }

  #placeToScan(lanesToFill: number): KeyScan['from'] {
    const isRich = lanesToFill * this.#depth >= richRead
    this.#richReads = isRich ? (this.#richReads + 1) % scansApart : 0
    return this.#richReads === 0 ? this.#scan.from : 'nowhere'
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
    const { keeper, lanes, lock } = this.#options
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

    const taken = await this.#intake.take(lock.fence, offers)
    if (taken === undefined) return undefined
    offers.forEach((offer, index) => this.#sort(offer, taken[index]!))
    // The store has no rows for these: their keys are through, or another process owns them.
    const offered = new Set(offers.map(({ key }) => key))
    for (const key of fill) if (!offered.has(key)) lanes.expectMore(key, false)
    return taken.flat()
  }

  #sort(
    { key, waitMs, hasMore, ready }: LaneOffer & { readonly key: string },
    taken: readonly Delivery[],
  ): void {
    const { lanes, wakePoller } = this.#options
    if (waitMs !== undefined) {
      lanes.expectMore(key, false)
      this.#waiting.add(key, waitMs)
      if (waitMs < Infinity) wakePoller(Math.max(1, waitMs))
    } else if (taken.length < ready.length) {
      // Another process holds a row that was free a moment ago.
      lanes.expectMore(key, false)
      wakePoller(lostRowMs)
    } else {
      // Where there was no room, the lane is there to be filled next.
      lanes.expectMore(key, hasMore)
    }
  }

  // Keys come first: no lane is filled any deeper while others are found.
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

// The poller continues from some place; the scan knows which one.
const somewhere: DuePlace = { availableAt: 0, seq: 0 }

function isKeyed(rows: readonly OrderedRow[]): boolean {
  return rows[0]!.orderingKey !== null
}
