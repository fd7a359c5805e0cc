import type { Cancel, Clock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import { validUntil } from '../delivery/local-validity.ts'
import { BackOff, type StoreRecovery } from '../store-calls/store-recovery.ts'
import { OutboxError } from '../errors.ts'
import type { Logger } from '../observe/logger.ts'
import type { NodeAnswer, NodeRequest, OutboxNodes } from '../store/index.ts'

/** Options of `NodeKeeper`. */
export interface NodeKeeperOptions {
  readonly nodes: OutboxNodes
  readonly id: string
  /** The mode of this process; null if it only writes. */
  readonly mode: string | null
  readonly intervalMs: number
  readonly clock: Clock
  readonly logger: Logger
  readonly recovery: StoreRecovery
  /** Called after every heartbeat, with what is paused and the mode of the table. */
  readonly onHeartbeat: (answer: Joined) => void
  /**
   * Called once when other processes use the table in another mode. This process may take no rows until a
   * heartbeat joins again.
   */
  readonly onConflict: (answer: Conflict) => void
}

type Joined = NodeAnswer & { readonly kind: 'joined' }
type Conflict = NodeAnswer & { readonly kind: 'conflict' }

/** After a failed heartbeat, the pause before the next one is divided by this. */
const soonerAfterFailure = 4

/**
 * Keeps this process registered. A process whose mode would break the promises of the others refuses to
 * start. A process that was away while the table's mode changed stops taking rows.
 *
 * A heartbeat may be missed. A process whose registration may have run out asks the store before it takes
 * more rows.
 */
export class NodeKeeper {
  readonly #options: NodeKeeperOptions
  readonly #backOff: BackOff
  #cancel: Cancel | undefined
  #joining: Promise<void> | undefined
  #memberUntil = -Infinity
  #isBarred = false
  #left = false

  constructor(options: NodeKeeperOptions) {
    this.#options = options
    this.#backOff = new BackOff({
      ...options,
      what: 'A heartbeat',
      firstMs: options.intervalMs,
      longestMs: options.intervalMs,
    })
  }

  /**
   * Registers this process. Throws `OUTBOX_MODE_CONFLICT` if living processes use the table in another mode.
   */
  async join(): Promise<void> {
    const { mode } = this.#options
    const answer = await this.#ask()
    if (answer.kind === 'conflict') {
      throw new OutboxError(
        'OUTBOX_MODE_CONFLICT',
        `This process wants to use the table in mode "${mode}", but ${using(answer.nodes)} it in mode "${answer.mode}", ` +
          'and both together would deliver events twice. Stop the others first, or use the same preset.',
      )
    }
    this.#joined(answer)
    this.#schedule()
  }

  /** Whether it is certain that this process is registered now. */
  get isMember(): boolean {
    return this.#options.clock.monotonic() < this.#memberUntil
  }

  /**
   * Resolves to whether this process is registered. Sends a heartbeat first if the registration may have run
   * out. Rejects if the heartbeat fails.
   */
  async staysMember(): Promise<boolean> {
    if (!this.isMember && !this.#isBarred && !this.#left) await this.#beat()
    return this.isMember
  }

  async leave(): Promise<void> {
    this.#left = true
    this.#memberUntil = -Infinity
    this.#cancel?.()
    await this.#options.nodes.leave(this.#options.id)
  }

  get #request(): NodeRequest {
    const { id, mode, intervalMs } = this.#options
    return { id, mode, ttlMs: intervalMs * 2.5 }
  }

  async #ask(): Promise<NodeAnswer> {
    const { nodes, clock } = this.#options
    const askedAt = clock.monotonic()
    const answer = await nodes.join(this.#request)
    if (!this.#left && answer.kind === 'joined') this.#memberUntil = validUntil(askedAt, this.#request.ttlMs)
    return answer
  }

  #joined(answer: Joined): void {
    if (this.#isBarred) {
      this.#isBarred = false
      this.#options.logger.info(
        `The table is used in mode "${this.#options.mode}" again. This process takes part again.`,
      )
    }
    this.#options.onHeartbeat(answer)
  }

  #refused(answer: Conflict): void {
    this.#memberUntil = -Infinity
    if (this.#isBarred) return
    this.#isBarred = true
    this.#options.logger.error(
      `This process was away for too long, and ${using(answer.nodes)} the table in mode "${answer.mode}" by now. ` +
        `It takes no more events in mode "${this.#options.mode}" until the others have stopped. Stop one of them.`,
    )
    this.#options.onConflict(answer)
  }

  #schedule(inMs = this.#options.intervalMs): void {
    this.#cancel?.()
    if (!this.#left) this.#cancel = this.#backOff.schedule(inMs, () => void this.#beatOrReport())
  }

  // Never rejects: the next heartbeat tries again.
  async #beatOrReport(): Promise<void> {
    try {
      await this.#beat()
    } catch {
      // The fault is in the log already, and the heartbeat is repeated.
    }
  }

  #beat(): Promise<void> {
    this.#joining ??= this.#beatOnce().finally(() => (this.#joining = undefined))
    return this.#joining
  }

  async #beatOnce(): Promise<void> {
    const { intervalMs } = this.#options
    let pauseMs = intervalMs / soonerAfterFailure
    try {
      const answer = await this.#ask()
      this.#backOff.succeeded()
      pauseMs = intervalMs
      if (this.#left) return
      if (answer.kind === 'conflict') this.#refused(answer)
      else this.#joined(answer)
    } catch (error) {
      this.#backOff.failed(`A heartbeat failed and will be tried again. ${describeError(error)}`)
      throw error
    } finally {
      this.#schedule(pauseMs)
    }
  }
}

function using(nodes: readonly string[]): string {
  return `${nodes.join(', ')} ${nodes.length === 1 ? 'uses' : 'use'}`
}
