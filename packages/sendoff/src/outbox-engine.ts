import type { Clock } from './clock.ts'
import { describeError } from './describe-error.ts'
import { coldOnly } from './dispatch/cold-signals.ts'
import { DispatcherHotPath } from './dispatch/dispatcher-hot-path.ts'
import type { Holding } from './dispatch/delivery.ts'
import { OutboxDispatcher } from './dispatch/outbox-dispatcher.ts'
import type { Pauses } from './dispatch/pauses.ts'
import type { JsonCodec } from './event/json-codec.ts'
import type { Logger } from './observe/logger.ts'
import type { MetricsExporter } from './observe/metrics.ts'
import type { OutboxMode, OutboxOptions } from './outbox-options.ts'
import type { Announcer } from './poll/announcer.ts'
import { answeringInTime } from './poll/answering-in-time.ts'
import { claimKeys, claimSource } from './poll/claim-source.ts'
import { LeaseKeeper } from './poll/lease-keeper.ts'
import { NamedLock } from './poll/named-lock.ts'
import { OutboxPoller } from './poll/outbox-poller.ts'
import { OwnerSource } from './poll/owner-source.ts'
import type { Lease, OutboxStore } from './store.ts'
import type { HotPath } from './write/hot-path.ts'

export interface OutboxEngineParts {
  readonly announcer: Announcer
  readonly clock: Clock
  readonly codec: JsonCodec
  readonly lease: Lease
  readonly logger: Logger
  readonly metrics: MetricsExporter
  readonly pauses: Pauses
}

const lockName = 'outbox-poller'

/** Whom nobody can tell of others' events looks often while there are some. */
const blindBusyIntervalMs = 100

/** What every mode but the writers' has: the parts that deliver, put together for the mode. */
export class OutboxEngine {
  readonly hotPath: HotPath
  readonly poller: OutboxPoller
  readonly dispatcher: OutboxDispatcher
  readonly #lock: NamedLock | undefined
  readonly #leaseKeeper: LeaseKeeper
  readonly #logger: Logger
  readonly #options: OutboxOptions<never, never>
  #stopListening: Promise<(() => Promise<void>) | undefined> | undefined

  constructor(
    mode: Exclude<OutboxMode, 'writerOnly'>,
    options: OutboxOptions<never, never>,
    parts: OutboxEngineParts,
  ) {
    const { store, listeners } = options
    const { lease, pauses } = parts
    const shared = { ...parts, store: answeringInTime(store, parts.clock, lease.ms) }
    this.#options = options
    this.#logger = parts.logger
    this.#lock = mode === 'multiNode' ? undefined : this.#namedLock(shared)
    const lock = this.#lock

    this.dispatcher = new OutboxDispatcher({
      timeoutGraceMs: lease.ms,
      ...options,
      ...(mode === 'ordered' ? { workerCount: 1, maxAttempts: options.maxAttempts ?? 1 } : {}),
      ...shared,
      ...(lock === undefined ? {} : { owner: () => (lock.holding === undefined ? undefined : lock.fence) }),
      recordHeld: async () => ownerSource?.recordHeld(),
      claimAgain: async ({ row, source }) => (await claimKeys(polling, [row], source))[0],
      wakePoller: (inMs) => this.poller.wake(inMs),
      onRoom: () => this.poller.goOn(),
    })
    const { inFlight } = this.dispatcher
    const polling = { ...shared, inFlight, skipRecentMs: options.poller?.skipRecentMs ?? 0 }
    const ownerSource =
      lock && new OwnerSource({ ...polling, lock, order: mode === 'ordered' ? 'written' : 'due' })
    this.poller = new OutboxPoller({
      ...polling,
      ...(store.wakeUps === undefined ? { busyIntervalMs: blindBusyIntervalMs } : {}),
      ...options.poller,
      source: ownerSource ?? claimSource(polling),
      handler: {
        handle: (delivery) => this.dispatcher.enqueueCold(delivery),
        availableCapacity: () => this.dispatcher.coldQueueRemainingCapacity(),
      },
    })
    this.#leaseKeeper = new LeaseKeeper({ ...shared, inFlight })
    const signals = {
      ...shared,
      wakePoller: (inMs?: number) => this.poller.wake(inMs),
      announce: () => parts.announcer.announce(),
    }
    // Order forbids a way past the poller.
    this.hotPath =
      mode === 'ordered'
        ? coldOnly(signals)
        : new DispatcherHotPath({
            ...signals,
            dispatcher: this.dispatcher,
            listeners,
            pauses,
            claimKeys: (keys) => claimKeys(polling, keys, 'hot'),
          })
  }

  start(): void {
    this.#leaseKeeper.start()
    if (!(this.#options.poller?.enabled ?? true)) return
    this.poller.start()
    this.#stopListening = this.#listen()
  }

  /** Resolves when nothing is on its way to a listener, with one, or waiting for its settlement. */
  async idle(): Promise<void> {
    if (this.hotPath instanceof DispatcherHotPath) await this.hotPath.idle()
    await this.dispatcher.idle()
  }

  async close(): Promise<void> {
    await (
      await this.#stopListening
    )?.()
    await this.poller.close()
    await this.dispatcher.close(this.#options)
    // A listener that is still at work does so under the lock: it then runs out by itself.
    if (this.dispatcher.isRunning) return this.abandon()
    try {
      await this.#lock?.release()
    } catch (error) {
      this.#logger.warn(`Releasing the lock failed; it runs out by itself. ${describeError(error)}`)
    }
    this.abandon()
  }

  /** Stops everything that runs by itself, whatever is still under way. */
  abandon(): void {
    this.#leaseKeeper.stop()
    this.#lock?.abandon()
  }

  // Without wake-ups the poller still looks at its own intervals.
  async #listen(): Promise<(() => Promise<void>) | undefined> {
    try {
      return await this.#options.store.wakeUps?.listen(() => this.poller.wake())
    } catch (error) {
      this.#logger.warn(`Listening for wake-ups failed; events are found by polling. ${describeError(error)}`)
      return undefined
    }
  }

  #namedLock({
    store,
    lease,
    clock,
    logger,
  }: OutboxEngineParts & { readonly store: OutboxStore<never> }): NamedLock {
    return new NamedLock({
      locks: store.locks,
      name: lockName,
      token: lease.owner,
      ttlMs: lease.ms,
      clock,
      logger,
      onLost: (holding) => this.#lockLost(holding),
    })
  }

  #lockLost(holding: Holding): void {
    this.#logger.warn(`The lock "${lockName}" was lost: what was read under it is left to its next owner.`)
    for (const delivery of this.dispatcher.inFlight.values()) if (delivery.lock === holding) delivery.lose()
    this.poller.wake()
  }
}
