import type { Clock } from '../clock.ts'
import { OutboxError } from '../errors.ts'
import type { Logger } from '../observe/logger.ts'
import type { Settler } from '../settle/settler.ts'
import type { LeaseTaker, OutboxDispatcherOptions } from './dispatcher-options.ts'
import type { DispatchQueues } from './dispatch-queues.ts'
import type { IntakeGate } from './intake-gate.ts'
import type { ListenerCalls } from './listener-calls.ts'
import type { Pump } from './pump.ts'
import type { UnrunDeliveries } from './unrun-deliveries.ts'
import type { Waiters } from './waiters.ts'

/** How many milliseconds listeners have to react to the signal at the end of a shutdown. */
const abortGraceMs = 1_000

/** Options of `Shutdown`. */
export interface ShutdownOptions extends Pick<OutboxDispatcherOptions, 'onlyRunning' | 'onClosed'> {
  readonly leaseTaker: LeaseTaker
  readonly gate: IntakeGate
  readonly pump: Pump
  readonly queues: DispatchQueues
  readonly unrun: UnrunDeliveries
  readonly calls: ListenerCalls
  readonly settler: Settler
  readonly waiters: Waiters
  readonly clock: Clock
  readonly logger: Logger
}

/** How many milliseconds each step of a shutdown may take. */
export interface ShutdownTimes {
  readonly drainTimeoutMs: number
  readonly shutdownTimeoutMs: number
}

/** Closes a dispatcher, each step within its time limit. */
export class Shutdown {
  readonly #options: ShutdownOptions

  constructor(options: ShutdownOptions) {
    this.#options = options
  }

  async run({ drainTimeoutMs, shutdownTimeoutMs }: ShutdownTimes): Promise<void> {
    const { gate, pump, queues, unrun, waiters, onlyRunning, onClosed, leaseTaker } = this.#options
    gate.close()
    pump.schedule()
    await waiters.within(drainTimeoutMs, () => queues.length === 0)
    await unrun.handBackQueued()
    await onlyRunning?.(leaseTaker)
    await this.#finishRunning(shutdownTimeoutMs)
    await this.#settleWithin(drainTimeoutMs)
    await onClosed?.()
  }

  async #finishRunning(timeoutMs: number): Promise<void> {
    const { calls, logger, pump, waiters } = this.#options
    await waiters.within(timeoutMs, () => pump.isIdle)
    calls.abortAll(new OutboxError('OUTBOX_SHUTDOWN', 'The outbox is closing and cannot wait any longer.'))
    await waiters.within(abortGraceMs, () => pump.isIdle)
    if (calls.size > 0) {
      logger.warn(
        `${calls.size} listeners did not return in time. Their events are delivered again when their leases have run out.`,
      )
    }
    calls.abandon()
  }

  async #settleWithin(timeoutMs: number): Promise<void> {
    const { clock, logger, settler } = this.#options
    const cancel = clock.schedule(timeoutMs, () => settler.giveUp(), 'keepAlive')
    await settler.drained()
    cancel()
    settler.giveUp()
    if (settler.backlog > 0) {
      logger.error(`${settler.backlog} delivered events could not be settled and will be delivered again.`)
    }
  }
}
