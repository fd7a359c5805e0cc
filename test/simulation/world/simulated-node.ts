import { delay } from '../../../packages/sendoff/src/clock.ts'
import { OutboxError } from '../../../packages/sendoff/src/errors.ts'
import type { Logger } from '../../../packages/sendoff/src/observe/logger.ts'
import { InMemoryMetrics } from '../../../packages/sendoff/src/observe/metrics.ts'
import { Outbox } from '../../../packages/sendoff/src/outbox/outbox.ts'
import type { WriterOutbox } from '../../../packages/sendoff/src/outbox/writer-outbox.ts'
import { fixedDelay } from '../../../packages/sendoff/src/retry/fixed-delay.ts'
import type { RepeatedWrite, WrittenEvent } from '../../faults/history/history-record.ts'
import type { ProcessHistory } from '../../faults/history/process-history.ts'
import { rowName, rowsOf, twoDestinations, twoWays } from '../../faults/history/rows-of-events.ts'
import { keepsOrder } from '../../faults/processes/node-setup.ts'
import { observedStore } from '../../faults/processes/observed-store.ts'
import { eventTypeOf, heardTypes, plannedListeners } from '../../faults/processes/planned-listeners.ts'
import { SeededRandom } from '../../faults/run/seeded-random.ts'
import type { SimulatedDatabase } from '../database/simulated-database.ts'
import { type SimulatedTx, simulatedStore } from '../database/simulated-store.ts'
import type {
  PlannedEvent,
  PlannedProcess,
  PlannedTransaction,
  SimulationPlan,
} from '../plan/simulation-plan.ts'
import { mixed } from './delays.ts'
import type { Network } from './network.ts'
import { ProcessCalls } from './process-calls.ts'
import type { SimulatedProcess } from './simulated-process.ts'

/** The parts of a world that a node needs. */
export interface NodeWorld {
  readonly plan: SimulationPlan
  readonly db: SimulatedDatabase
  readonly network: Network
  readonly logger: (process: SimulatedProcess) => Logger
  /** Kills the process, as its own listener would. */
  kill(process: SimulatedProcess): void
  /** Freezes the process, as a listener that blocks would. */
  freeze(process: SimulatedProcess, ms: number): void
}

const plannedRollback = new Error('A planned rollback.')

/** An outbox in a simulated process, as an application would run it. */
export class SimulatedNode {
  readonly process: SimulatedProcess
  readonly #world: NodeWorld
  readonly #history: ProcessHistory
  readonly #outbox: WriterOutbox<any>
  readonly #metrics = new InMemoryMetrics()
  readonly #delivers: boolean
  readonly #calls: ProcessCalls

  constructor(
    process: SimulatedProcess,
    { delivers }: PlannedProcess,
    history: ProcessHistory,
    world: NodeWorld,
  ) {
    this.process = process
    this.#world = world
    this.#history = history
    this.#delivers = delivers
    this.#calls = new ProcessCalls(process, world.db, world.network)
    this.#outbox = delivers ? this.#delivering() : this.#writing()
  }

  /** Starts as under a supervisor: again and again while the database is down. */
  async start(): Promise<void> {
    for (;;) {
      try {
        await this.#outbox.start()
        break
      } catch {
        await delay(this.process.clock, 1_000)
      }
    }
    this.#history.say({ kind: 'ready', delivers: this.#delivers })
  }

  /**
   * Closes the outbox. If that took all the time it may take, the process may not know what was refused, and a
   * settlement may still wait for its answer.
   */
  async close(): Promise<void> {
    const { clock } = this.process
    const startedAt = clock.monotonic()
    await this.#outbox.close()
    if (clock.monotonic() - startedAt < this.#world.plan.settings.closeMs * 0.9) {
      this.#history.say({ kind: 'refusalsTold', count: this.#metrics.settlementRefused })
      return
    }
    const since = this.#calls.waitingSince('settle')
    if (since !== undefined) this.#history.say({ kind: 'cutOff', since, what: 'settle in vain' })
  }

  /** Writes a planned transaction, and records how it ended. Returns whether its end is known. */
  async write(planned: PlannedTransaction, attempt: number): Promise<void> {
    const tx = `${planned.name}/${this.process.name}/${attempt}`
    const { rollsBack } = planned
    try {
      await this.#outbox.transaction(async (handle: SimulatedTx) => {
        // The business data of the transaction.
        handle.tx.onCommit(() => this.#world.db.businessRows.push(tx))
        const events = await this.#writeEvents(planned.events, planned.together, attempt)
        const undone = planned.hasUndonePart ? await this.#writeUndone(planned, attempt) : []
        const repeated =
          planned.repeats === undefined ? [] : await this.#writeRepeated(planned, events, attempt)
        this.#history.say({
          kind: 'intent',
          tx,
          rollsBack,
          events: rowsOf(events, this.#destinations),
          undone: undone.flatMap((eventId) =>
            this.#destinations.map((destination) => rowName({ eventId, destination })),
          ),
          repeated,
        })
        if (planned.openMs > 0) await delay(this.process.clock, planned.openMs)
        if (rollsBack) throw plannedRollback
      })
      this.#history.say({ kind: 'commit', tx })
    } catch (error) {
      if (error === plannedRollback) this.#history.say({ kind: 'rollback', tx })
      else this.#history.say({ kind: 'unknown', tx, error: String(error) })
      if (error instanceof OutboxError && error.code !== 'OUTBOX_CLOSED' && !isExpected(error)) throw error
    }
  }

  get #destinations(): readonly string[] {
    return this.#world.plan.settings.broken === undefined ? [''] : twoDestinations
  }

  async #writeEvents(
    events: readonly PlannedEvent[],
    together: boolean,
    attempt: number,
    idempotencyKey?: string,
  ): Promise<WrittenEvent[]> {
    const written: WrittenEvent[] = []
    for (const batch of together ? [events] : events.map((event) => [event])) {
      const now = this.#history.now()
      const ids = await this.#outbox.writeAll(
        batch.map(({ id, behaviour, key, delayMs }) => ({
          type: { name: eventTypeOf(behaviour) },
          payload: { behaviour, writtenAt: now },
          fields: {
            eventId: attempt === 1 ? id : `${id}-${attempt}`,
            ...(key !== undefined && { orderingKey: key }),
            ...(delayMs !== undefined && { deliverAfterMs: delayMs }),
            ...(idempotencyKey !== undefined && { idempotencyKey }),
          },
        })),
      )
      const wroteAt = this.#history.now()
      batch.forEach(({ behaviour, key, delayMs }, index) =>
        written.push({
          id: ids[index]!,
          behaviour,
          wroteAt,
          ...(key !== undefined && { key }),
          ...(delayMs !== undefined && { notBefore: now + delayMs }),
        }),
      )
    }
    return written
  }

  async #writeUndone({ name, events }: PlannedTransaction, attempt: number): Promise<string[]> {
    const [first] = events
    const inner = { ...first!, id: `${name}-undone` }
    const undone: string[] = []
    try {
      await this.#outbox.transaction(async () => {
        undone.push(...(await this.#writeEvents([inner], true, attempt)).map(({ id }) => id))
        throw plannedRollback
      })
    } catch (error) {
      if (error !== plannedRollback) throw error
    }
    return undone
  }

  /** Writes twice with one idempotency key: the second write returns the event of the first. */
  async #writeRepeated(
    { name, events }: PlannedTransaction,
    written: WrittenEvent[],
    attempt: number,
  ): Promise<RepeatedWrite[]> {
    const [{ behaviour, key } = { behaviour: 'succeed' as const }] = events
    const event = { id: `${name}-first`, behaviour, ...(key !== undefined && { key }) }
    const idempotencyKey = `${name}/${attempt}/${this.process.name}`
    const [first] = await this.#writeEvents([event], true, attempt, idempotencyKey)
    written.push(first!)
    const again = { ...event, id: `${name}-again` }
    const [second] = await this.#writeEvents([again], true, attempt, idempotencyKey)
    return [{ expected: first!.id, answered: second!.id }]
  }

  #writing(): WriterOutbox<any> {
    const { clock } = this.process
    return Outbox.writerOnly<any>({ ...this.#common(), clock })
  }

  #delivering(): WriterOutbox<any> {
    const { process } = this
    const { plan } = this.#world
    const { settings, mode } = plan
    const { leaseMs, hangTimeoutMs, hangGraceMs, closeMs, intervalMs, batchSize } = settings
    const random = new SeededRandom(mixed(plan.seed, `listeners ${process.name}`))
    const listeners = plannedListeners(
      this.#history,
      heardTypes(process.slot, settings.listenersDiffer),
      {
        leaseMs,
        hangTimeoutMs,
        hangMs: (hangTimeoutMs + hangGraceMs) * 4,
        longestMs: keepsOrder(mode) ? 40 : 200,
        outlastCloseMs: closeMs * 8,
        broken: settings.broken,
      },
      {
        clock: process.clock,
        random: () => random.next(),
        kill: () => this.#world.kill(process),
        block: (ms) => this.#world.freeze(process, ms),
      },
    )
    return Outbox[mode]<any>({
      ...this.#common(),
      listeners,
      metrics: this.#metrics,
      leaseMs,
      maxAttempts: settings.maxAttempts,
      maxLosses: settings.maxLosses,
      retryPolicy: fixedDelay(700),
      timeoutGraceMs: hangGraceMs,
      drainTimeoutMs: closeMs,
      shutdownTimeoutMs: closeMs,
      poller: { intervalMs, batchSize },
      coldQueueCapacity: settings.coldQueueCapacity,
      ...(settings.listenersDiffer && { onUnroutable: 'defer', unroutableDelayMs: 5_000 }),
      ...(mode !== 'ordered' && { workerCount: settings.workerCount }),
      ...(!keepsOrder(mode) && { hotQueueCapacity: settings.hotQueueCapacity }),
    })
  }

  #common() {
    const { process } = this
    const { plan, db, logger } = this.#world
    const random = new SeededRandom(mixed(plan.seed, process.name))
    const store = simulatedStore(db, this.#calls)
    const cutOffMs = plan.settings.leaseMs / (plan.mode === 'singleWriter' ? 4 : 2)
    const passing = { of: <Target extends object>(target: Target): Target => target }
    return {
      store: observedStore(store, this.#history, cutOffMs, passing, process.clock),
      clock: process.clock,
      random: () => random.next(),
      logger: logger(process),
      ownerId: process.name,
      ...(plan.settings.broken && { routing: twoWays }),
    }
  }
}

/** Errors of a write that a fault explains. */
function isExpected({ code }: OutboxError): boolean {
  return code === 'OUTBOX_TRANSACTION_ENDED' || code === 'OUTBOX_NOT_STARTED'
}
