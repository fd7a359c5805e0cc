import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '../clock.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { DeliveryQueue } from '../delivery/delivery-queue.ts'
import type { Pauses } from '../hold/pauses.ts'
import type { EngineMetrics } from '../observe/metrics.ts'
import type { CircuitBreaker } from '../process/circuit-breaker.ts'
import type { Settler } from '../settle/settler.ts'
import type { Outcome } from '../store/index.ts'
import type { DispatchQueues } from './dispatch-queues.ts'
import { fairTurns } from './fair-turns.ts'
import type { IntakeGate } from './intake-gate.ts'
import type { LaneTurns } from './lane-turns.ts'
import type { ListenerCalls } from './listener-calls.ts'
import type { ListenerStarts } from './listener-starts.ts'
import type { QueueRoom } from './queue-room.ts'
import type { SuspectTurns } from './suspect-turns.ts'
import type { UnrunDeliveries } from './unrun-deliveries.ts'
import type { Waiters } from './waiters.ts'

/** Options of `Pump`. */
export interface PumpOptions {
  readonly queues: DispatchQueues
  readonly lanes: LaneTurns | undefined
  readonly gate: IntakeGate
  readonly room: QueueRoom
  readonly starts: ListenerStarts
  readonly calls: ListenerCalls
  readonly settler: Settler
  readonly unrun: UnrunDeliveries
  readonly waiters: Waiters
  readonly clock: Clock
  readonly metrics: EngineMetrics
  readonly workerCount: number
  readonly maxUnsettled: number
  readonly settleFirst: boolean
  readonly hotShare: number
  readonly pauses?: Pauses
  readonly breaker?: CircuitBreaker
  readonly breaksCold?: boolean
  readonly mayBegin?: (again: () => void) => boolean
  /** Set if the process has several dispatchers. */
  readonly suspectTurns?: SuspectTurns
}

/** How many deliveries begin in one turn of the event loop, if other dispatchers wait for theirs. */
const startsPerTurn = 16

/** Moves deliveries from the queues to free workers. */
export class Pump {
  readonly #queues: DispatchQueues
  readonly #lanes: LaneTurns | undefined
  readonly #gate: IntakeGate
  readonly #room: QueueRoom
  readonly #starts: ListenerStarts
  readonly #calls: ListenerCalls
  readonly #settler: Settler
  readonly #unrun: UnrunDeliveries
  readonly #waiters: Waiters
  readonly #clock: Clock
  readonly #metrics: EngineMetrics
  readonly #workerCount: number
  readonly #maxUnsettled: number
  readonly #settleFirst: boolean
  readonly #pauses: Pauses | undefined
  readonly #breaker: CircuitBreaker | undefined
  readonly #breaksCold: boolean
  readonly #mayBegin: PumpOptions['mayBegin']
  readonly #hasNeighbours: boolean
  readonly #nextTurn: () => 'hot' | 'cold'
  // Listeners must not run inside the transaction of the code that woke the dispatcher.
  readonly #outsideTransactions = AsyncLocalStorage.snapshot()
  #isScheduled = false
  #startsInTurn = 0
  #hasFailed = false
  #coldQueued = 0

  constructor(options: PumpOptions) {
    this.#queues = options.queues
    this.#lanes = options.lanes
    this.#gate = options.gate
    this.#room = options.room
    this.#starts = options.starts
    this.#calls = options.calls
    this.#settler = options.settler
    this.#unrun = options.unrun
    this.#waiters = options.waiters
    this.#clock = options.clock
    this.#metrics = options.metrics
    this.#workerCount = options.workerCount
    this.#maxUnsettled = options.maxUnsettled
    this.#settleFirst = options.settleFirst
    this.#pauses = options.pauses
    this.#breaker = options.breaker
    this.#breaksCold = options.breaksCold ?? false
    this.#mayBegin = options.mayBegin
    this.#hasNeighbours = options.suspectTurns !== undefined
    this.#nextTurn = fairTurns(options.hotShare)
  }

  /** Whether nothing is queued and nothing runs. */
  get isIdle(): boolean {
    return this.#calls.size === 0 && this.#queues.length === 0 && this.#gate.suspect === undefined
  }

  /** Runs soon, but not now: the code that commits or polls finishes its turn first. */
  schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#clock.defer(() => {
      this.#isScheduled = false
      this.#startsInTurn = 0
      this.#outsideTransactions(() => this.run())
    })
  }

  /** Called with every outcome. */
  ended({ kind }: Outcome): void {
    this.#hasFailed = kind === 'retry'
  }

  /** Gives each free worker its next delivery. */
  run(): void {
    while (this.#hasFreeSlot) {
      if (this.#givesWay) {
        this.schedule()
        break
      }
      this.#startsInTurn++
      const delivery = this.#next()
      if (delivery === undefined) break
      this.start(delivery)
    }
    this.#flushSettlements()
    this.#room.watchWaiting()
    if (!this.#metrics.isOff) this.#report()
    this.#waiters.changed()
  }

  /** Counts a delivery that was put into the cold queue, until the next run. */
  coldQueued(): void {
    this.#coldQueued++
  }

  start(delivery: Delivery): void {
    this.#starts.start(delivery, this)
  }

  /**
   * Takes the next delivery that is certainly still held here and not paused. Hands back the others on the
   * way.
   */
  take(queue: DeliveryQueue, after?: Delivery): Delivery | undefined {
    const isHot = queue === this.#queues.hot
    if (!isHot && !this.#mayBeginCold) return undefined
    for (;;) {
      const delivery = queue.take(after)
      if (delivery === undefined) return undefined

      if (!isHot) this.#room.tookCold()
      if (!delivery.isHeld(this.#clock.monotonic())) {
        this.#unrun.handBack(delivery)
      } else if (this.#pauses?.isPaused(delivery.row)) {
        this.#unrun.handBackPaused(delivery, this.#pauses)
      } else if ((isHot || this.#breaksCold) && this.#breaker?.begin() === false) {
        // The poller tries it at its next interval. A wake-up for each of these would be too many.
        this.#unrun.leaveToPoller(delivery)
      } else {
        return delivery
      }
    }
  }

  // Deliveries that end at once would run one after the other, while events of other destinations wait. Those
  // that fail take longest.
  get #givesWay(): boolean {
    if (!this.#hasNeighbours || this.#queues.length === 0) return false
    return this.#startsInTurn >= (this.#hasFailed ? 1 : startsPerTurn)
  }

  #report(): void {
    this.#metrics.recordQueueDepths(this.#queues.hot.length, this.#queues.cold.length)
    if (this.#coldQueued > 0) this.#metrics.addColdEnqueued(this.#coldQueued)
    this.#coldQueued = 0
  }

  get #hasFreeSlot(): boolean {
    if (this.#gate.suspect !== undefined || this.#gate.standsStill) return false
    const { backlog } = this.#settler
    const taken = this.#settleFirst ? this.#calls.size + backlog : this.#calls.size
    return taken < this.#workerCount && backlog < this.#maxUnsettled
  }

  #next(): Delivery | undefined {
    const { hot, cold } = this.#queues
    return this.#nextTurn() === 'hot'
      ? (this.take(hot) ?? this.take(cold))
      : (this.take(cold) ?? this.take(hot))
  }

  get #mayBeginCold(): boolean {
    if (this.#mayBegin === undefined || this.#queues.cold.length === 0) return true
    return this.#mayBegin(() => this.schedule())
  }

  // Outcomes wait in the settler for others to join them. In these cases, no other can come before these are
  // written.
  #flushSettlements(): void {
    // Workers wait for settlements.
    if (this.#settleFirst) this.#settler.flush()
    // Lanes wait for settlements, and none has a delivery to begin.
    if (this.#calls.size === 0 && this.#lanes?.isStalled) this.#settler.flushNow()
  }
}
