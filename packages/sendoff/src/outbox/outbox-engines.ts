import { describeError } from '../describe-error.ts'
import { SuspectTurns } from '../dispatch/suspect-turns.ts'
import type { Pauses } from '../hold/pauses.ts'
import type { Mode } from '../modes/mode.ts'
import type { Logger } from '../observe/logger.ts'
import type { CircuitBreakerState } from '../observe/metrics.ts'
import { EventRules } from '../process/event-rules.ts'
import type { Routing } from '../route/routing.ts'
import type { DestinationOptions } from '../route/routing-options.ts'
import type { DestinationReport, ProcessReport, WakeUp } from '../store/index.ts'
import type { HotPath } from '../write/hot-path.ts'
import { type EngineOptions, OutboxEngine, type OutboxEngineParts } from './outbox-engine.ts'
import { RoutedHotPath } from './routed-hot-path.ts'

/** Options of `OutboxEngines`. */
export interface OutboxEnginesOptions {
  readonly mode: Mode
  readonly options: EngineOptions
  readonly parts: Omit<OutboxEngineParts, 'scope' | 'shared' | 'rules' | 'suspectTurns'>
  readonly routing: Routing | undefined
  /** Whether the table may have rows for other destinations than the empty one. */
  readonly isRouted: () => boolean
  /** Called when an operator or another process has changed something that all follow. */
  readonly onControls: () => Promise<void>
}

/**
 * The engines of a process, one for each destination. Each has its own workers, queues and poller, so that a
 * destination that fails takes nothing from the others. Without routing there is one.
 */
export class OutboxEngines {
  readonly hotPath: HotPath
  readonly #engines: readonly OutboxEngine[]
  readonly #options: OutboxEnginesOptions
  readonly #logger: Logger
  readonly #pauses: Pauses
  #stopListening: Promise<(() => Promise<void>) | undefined> | undefined

  constructor(options: OutboxEnginesOptions) {
    this.#options = options
    this.#logger = options.parts.logger
    this.#pauses = options.parts.pauses
    const { routing, parts } = options
    let sharedPart: { readonly part: unknown } | undefined
    const shared = <Part>(make: () => Part): Part => (sharedPart ??= { part: make() }).part as Part
    const suspectTurns = routing && new SuspectTurns()
    const rules = routing && new EventRules(routing, parts.codec)
    const destinations = routing?.destinations ?? new Map<string, DestinationOptions>([['', {}]])
    this.#engines = [...destinations].map(
      ([destination, settings]) =>
        new OutboxEngine(options.mode, engineOptions(options.options, settings), {
          ...parts,
          shared,
          scope: {
            destination,
            isNamed: routing !== undefined,
            hasOthers: options.isRouted,
            breaker: settings.circuitBreaker,
          },
          ...(suspectTurns && { suspectTurns }),
          ...(rules !== undefined && routing!.changes(destination) && { rules }),
        }),
    )
    this.hotPath =
      routing === undefined
        ? this.#engines[0]!.hotPath
        : new RoutedHotPath(new Map(this.#engines.map((engine) => [engine.destination, engine.hotPath])))
  }

  start(): void {
    const areListening = this.#engines.map((engine) => engine.start())
    if (areListening.includes(true)) this.#stopListening = this.#listen()
  }

  /** The engine of the empty destination. */
  get unnamed(): OutboxEngine {
    return this.#engines[0]!
  }

  /** What this process holds now, for its report. */
  get state(): Pick<ProcessReport, 'queues' | 'held' | 'partitions' | 'destinations'> {
    const states = this.#engines.map((engine) => engine.state)
    const sum = (part: (state: (typeof states)[number]) => number) =>
      states.reduce((total, state) => total + part(state), 0)
    return {
      queues: { hot: sum(({ queues }) => queues.hot), cold: sum(({ queues }) => queues.cold) },
      held: { leased: sum(({ held }) => held.leased), locked: sum(({ held }) => held.locked) },
      partitions: states[0]!.partitions,
      ...(this.#options.routing && { destinations: this.#engines.map((engine) => this.#reportOf(engine)) }),
    }
  }

  /** Milliseconds since the last poll that succeeded, of the destination where that is longest ago. */
  get sincePollMs(): number | undefined {
    return longest(this.#engines.map(({ poller }) => poller.sinceSuccessMs))
  }

  /** Milliseconds since the last poll that began, of the destination where that is longest ago. */
  get sinceTryMs(): number | undefined {
    return longest(this.#engines.map(({ poller }) => poller.sinceTryMs))
  }

  /** The states of the circuit breakers by destination. */
  get breakers(): Readonly<Record<string, CircuitBreakerState>> {
    return Object.fromEntries(
      this.#engines.flatMap(({ destination, breaker }) =>
        breaker === undefined ? [] : [[destination, breaker.state]],
      ),
    )
  }

  /** How many rows this process holds. */
  get heldRows(): number {
    return this.#engines.reduce((total, { dispatcher }) => total + dispatcher.inFlight.size, 0)
  }

  /** Whether a listener runs now. */
  get runsListeners(): boolean {
    return this.#engines.some(({ dispatcher }) => dispatcher.runningListeners > 0)
  }

  /** Polls for due rows now, and resolves when they are in the queues. */
  async poll(): Promise<void> {
    await Promise.all(this.#engines.map(({ poller }) => poller.poll()))
  }

  /** Makes the pollers poll for due rows after `inMs` milliseconds. */
  wakePollers(inMs: number): void {
    for (const { poller } of this.#engines) poller.wake(inMs)
  }

  /** Resolves when no event is queued, no listener runs, and no settlement is outstanding. */
  async idle(): Promise<void> {
    await Promise.all(this.#engines.map((engine) => engine.idle()))
  }

  async close(): Promise<void> {
    await this.#unlisten()
    const polls = await Promise.all(this.#engines.map((engine) => engine.stopPolling()))
    await this.#engines[0]!.keeper?.stop()
    const { options } = this.#options
    await Promise.all(this.#engines.map(({ dispatcher }) => dispatcher.close(options)))
    await Promise.all(polls.map(({ polled }) => polled))
    this.abandon()
  }

  /**
   * Takes no more rows until `unbar`. Hands queued rows back, and settles running ones while their lease or
   * lock lasts.
   */
  async bar(): Promise<void> {
    await Promise.all(this.#engines.map((engine) => engine.bar()))
  }

  /** Takes rows again. */
  unbar(): void {
    for (const engine of this.#engines) engine.unbar()
  }

  /** Stops all timers and renewals, even while work is under way. */
  abandon(): void {
    for (const engine of this.#engines) engine.abandon()
  }

  /** Polls soon: rows may be due that this process has not written. */
  wake(): void {
    for (const engine of this.#engines) engine.wake()
  }

  #reportOf(engine: OutboxEngine): DestinationReport {
    return {
      destination: engine.destination,
      hasListener: this.#options.options.listeners.has(engine.destination),
      circuitBreaker: engine.breaker?.state ?? null,
      queues: engine.dispatcher.queueLengths,
      limits: engine.dispatcher.limits,
    }
  }

  // Without wake-ups, the pollers still poll at their intervals.
  async #listen(): Promise<(() => Promise<void>) | undefined> {
    const { wakeUps } = this.#options.options.store
    if (wakeUps === undefined) return undefined
    try {
      const stop = await wakeUps.listen((wakeUp) => this.#woken(wakeUp))
      // Signals that came between the first poll and this moment were not heard.
      this.#woken({})
      return stop
    } catch (error) {
      this.#logger.warn(`Listening for wake-ups failed; events are found by polling. ${describeError(error)}`)
      return undefined
    }
  }

  // A database that is down must not keep the engine from finishing the work at hand.
  async #unlisten(): Promise<void> {
    const stop = await this.#stopListening
    try {
      await stop?.()
    } catch (error) {
      this.#logger.warn(`Ending the wake-ups failed. ${describeError(error)}`)
    }
  }

  #woken({ partitions, inMs = [0], controls = false }: WakeUp): void {
    if (controls) void this.#controlsChanged()
    else for (const { alarm } of this.#engines) inMs.forEach((ms) => alarm.wake(ms, partitions))
    if (partitions === undefined && inMs.includes(0)) this.#engines[0]!.keeper?.wake()
  }

  // Without this refresh, rows that were just resumed would be handed back as paused until the next
  // heartbeat.
  async #controlsChanged(): Promise<void> {
    await Promise.all([this.#pauses.refresh(), this.#options.onControls()])
    for (const engine of this.#engines) engine.pollAgain()
  }
}

function longest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((ms) => ms !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}

/** Returns the options of the outbox with those of a destination in their place. */
function engineOptions(
  options: EngineOptions,
  { concurrency, timeoutMs, retry, maxAttempts }: DestinationOptions,
): EngineOptions {
  return {
    ...options,
    ...(concurrency !== undefined && { workerCount: concurrency }),
    ...(timeoutMs !== undefined && { listenerTimeoutMs: timeoutMs }),
    ...(retry !== undefined && { retryPolicy: retry, retryPolicyByType: {} }),
    ...(maxAttempts !== undefined && { maxAttempts }),
  }
}
