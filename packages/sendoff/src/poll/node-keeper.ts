import type { Cancel, Clock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import { BackOff, type StoreRecovery } from '../dispatch/store-recovery.ts'
import { OutboxError } from '../errors.ts'
import type { Logger } from '../observe/logger.ts'
import type { NodeAnswer, NodeRequest, OutboxNodes } from '../store.ts'

export interface NodeKeeperOptions {
  readonly nodes: OutboxNodes
  readonly id: string
  /** Null for a process that only writes. */
  readonly mode: string | null
  readonly intervalMs: number
  readonly clock: Clock
  readonly logger: Logger
  readonly recovery: StoreRecovery
  /** Hears with every heartbeat what is paused, and in which mode the table is. */
  readonly onHeartbeat: (answer: NodeAnswer & { readonly kind: 'joined' }) => void
}

/**
 * Keeps this process registered, so that one which would break its promises refuses to start.
 * A heartbeat may be missed.
 */
export class NodeKeeper {
  readonly #options: NodeKeeperOptions
  readonly #backOff: BackOff
  #cancel: Cancel | undefined
  #left = false

  constructor(options: NodeKeeperOptions) {
    this.#options = options
    this.#backOff = new BackOff({ ...options, firstMs: options.intervalMs, longestMs: options.intervalMs })
  }

  /** Throws `OUTBOX_MODE_CONFLICT` when living processes use the table in another mode. */
  async join(): Promise<void> {
    const { nodes, mode, onHeartbeat } = this.#options
    const answer = await nodes.join(this.#request)
    if (answer.kind === 'conflict') {
      throw new OutboxError(
        'OUTBOX_MODE_CONFLICT',
        `This process wants to use the table in mode "${mode}", but ${using(answer.nodes)} it in mode "${answer.mode}", ` +
          'and both together would deliver events twice. Stop the others first, or use the same preset.',
      )
    }
    onHeartbeat(answer)
    this.#schedule()
  }

  async leave(): Promise<void> {
    this.#left = true
    this.#cancel?.()
    await this.#options.nodes.leave(this.#options.id)
  }

  get #request(): NodeRequest {
    const { id, mode, intervalMs } = this.#options
    return { id, mode, ttlMs: intervalMs * 2.5 }
  }

  #schedule(): void {
    this.#cancel = this.#backOff.schedule(this.#options.intervalMs, () => void this.#beat())
  }

  // Never rejects: the next heartbeat tries again.
  async #beat(): Promise<void> {
    const { nodes, logger, recovery, onHeartbeat } = this.#options
    try {
      const answer = await nodes.join(this.#request)
      this.#backOff.succeeded()
      recovery.answered()
      if (answer.kind === 'conflict') {
        logger.error(
          `This process was away for too long, and ${using(answer.nodes)} the table in mode "${answer.mode}" by now. Stop one of them.`,
        )
      } else {
        onHeartbeat(answer)
      }
    } catch (error) {
      this.#backOff.failed()
      logger.error(`A heartbeat failed and will be tried again. ${describeError(error)}`)
    }
    if (!this.#left) this.#schedule()
  }
}

function using(nodes: readonly string[]): string {
  return `${nodes.join(', ')} ${nodes.length === 1 ? 'uses' : 'use'}`
}
