import type { Clock } from '../clock.ts'
import type { EventEnvelope } from '../event/event-envelope.ts'
import type { HeadersOfWrite } from '../observe/write-context.ts'
import { type InsertResult, type OutboxStore, requireParts } from '../store/index.ts'
import { AmbientTransactions } from './ambient-transactions.ts'
import type { HookCalls } from './hook-calls.ts'
import type { HotPath } from './hot-path.ts'
import { KeyLocksToTake, type WriteOrder } from './key-locks.ts'
import type { TxContext } from './tx-context.ts'
import { type DestinationsOf, WrittenBatch } from './written-batch.ts'

/** Options of `EventInserts`. */
export interface EventInsertsOptions<UserTx, StoreTx> {
  readonly store: OutboxStore<StoreTx>
  readonly txContext: AmbientTransactions<UserTx, StoreTx, never> | TxContext<StoreTx>
  readonly hotPath: HotPath | undefined
  readonly hookCalls: HookCalls | undefined
  readonly writeOrder: () => WriteOrder
  readonly destinationsOf?: (() => DestinationsOf | undefined) | undefined
  /** Returns whether the transaction has to signal for events that were committed before. Default: never. */
  readonly takeLateSignal?: (() => boolean) | undefined
  readonly clock: Clock
  /** Gets how many events a transaction has written, after its commit. */
  readonly onWritten?: ((count: number) => void) | undefined
}

/** Inserts events, and follows them to the end of their transaction. */
export class EventInserts<UserTx, StoreTx> {
  readonly #options: EventInsertsOptions<UserTx, StoreTx>
  readonly #store: OutboxStore<StoreTx>
  readonly #hotPath: HotPath | undefined
  readonly #keyLocks = new KeyLocksToTake()

  constructor(options: EventInsertsOptions<UserTx, StoreTx>) {
    this.#options = options
    this.#store = options.store
    this.#hotPath = options.hotPath
  }

  /**
   * Returns the ids in order. A duplicate gets the id of the earlier event with its idempotency key. The
   * headers of the write are stored with events that have none of the same name.
   */
  async insert(
    context: TxContext<StoreTx>,
    events: readonly EventEnvelope[],
    write?: HeadersOfWrite,
  ): Promise<string[]> {
    const tx = context.currentTransaction()
    const isObservable = context.observable !== false
    const batch = new WrittenBatch(
      events,
      isObservable ? this.#hotPath : undefined,
      this.#tellsOthers,
      write,
      this.#options.destinationsOf?.(),
    )
    let results: readonly InsertResult[]
    try {
      const locks = this.#keyLocks.for(this.#options.writeOrder(), context, batch.rows)
      if (locks !== undefined) {
        await requireParts(this.#store, ['lanes'], 'Writing in order').lanes.lock({ tx, keys: locks })
      }
      const announce = !isObservable || batch.isAnnounced
      const carriesSignal = this.#options.takeLateSignal?.() === true
      const lease = this.#hotPath?.lease
      results = await this.#store.insert({ tx, rows: batch.rows, lease, announce, carriesSignal })
    } catch (error) {
      batch.giveBack()
      throw error
    }

    const written = batch.written(results)
    if (written.length > 0) this.#follow(context, batch, written)
    return batch.ids
  }

  /**
   * Whether the transaction itself wakes other processes. If no other transaction of this process is open, a
   * signal inside it costs next to nothing. With many open, their commits would wait for each other. Then the
   * hot path, if there is one, signals once after the commit.
   */
  get #tellsOthers(): boolean {
    if (this.#hotPath === undefined) return true
    const { txContext } = this.#options
    return txContext instanceof AmbientTransactions && txContext.openCount === 1
  }

  // We register once per batch, however many events it has.
  #follow(context: TxContext<StoreTx>, batch: WrittenBatch, written: readonly EventEnvelope[]): void {
    const { hookCalls, clock, onWritten } = this.#options
    if (this.#hotPath === undefined && hookCalls === undefined && onWritten === undefined) return
    if (context.observable === false) this.#hotPath?.perhapsLater()

    context.afterCommit(() => {
      const isConfirmed = context.confirmsCommit ?? true
      batch.committed(isConfirmed, clock.now(), hookCalls?.onKnown(batch, false, true))
      onWritten?.(batch.kept().length)
    })
    context.afterRollback(() => {
      batch.giveBack()
      hookCalls?.call('afterRollback', written)
    })
    context.afterDoubt?.((isOver = false) => {
      batch.lookUp(!isOver, hookCalls?.onKnown(batch, !isOver, false))
    })
    hookCalls?.call('afterWrite', written)
  }
}
