import type { AggregateType, DefinedEvent, EventType } from '../event/event-type.ts'
import type { CircuitBreakerState } from '../observe/metrics.ts'
import type { BoundEventListener } from '../route/event-listener.ts'
import type {
  AnyListener,
  EventTypeLike,
  ListenerOptions,
  ListenerRegistry,
} from '../route/listener-registry.ts'
import type { TransactionOptions } from '../transactions.ts'
import type { MaybeHook, WrittenId } from '../write/writer-hook.ts'
import { OutboxCore } from './outbox-core.ts'
import type { OutboxEngines } from './outbox-engines.ts'
import type {
  DeliveringMode,
  OrderedOptions,
  OutboxOptions,
  PartitionedOptions,
  SingleWriterOptions,
  WriterOnlyOptions,
} from './outbox-options.ts'
import { WriterOutbox } from './writer-outbox.ts'

/**
 * An outbox with the transactions of its store, or of the option `transactions`. Without `NoInfer`,
 * TypeScript would infer `Tx` from the variable that the result is assigned to. Code of an ORM would then get
 * the transaction of a store.
 */
type Inferred<Tx, StoreTx, TxOptions, Hook extends MaybeHook> = Outbox<
  NoInfer<Tx>,
  NoInfer<StoreTx>,
  NoInfer<TxOptions>,
  WrittenId<NoInfer<Hook>>
>

/**
 * A transactional outbox. It writes events in the transaction of the data they are about, and delivers every
 * committed event at least once.
 */
export class Outbox<
  Tx,
  StoreTx = Tx,
  TxOptions = TransactionOptions,
  Id extends string | null = string,
> extends WriterOutbox<Tx, StoreTx, TxOptions, Id> {
  readonly #core: OutboxCore<Tx, StoreTx, TxOptions, Id>
  readonly #engine: OutboxEngines

  private constructor(mode: DeliveringMode, options: OutboxOptions<Tx, StoreTx, TxOptions, MaybeHook>) {
    const core = new OutboxCore<Tx, StoreTx, TxOptions, Id>(mode, options)
    super(core)
    this.#core = core
    this.#engine = core.engine!
  }

  /** For one delivering process at a time. The cold path reads without claims, under a lock. */
  static singleNode<
    StoreTx,
    Tx = StoreTx,
    TxOptions = TransactionOptions,
    Hook extends MaybeHook = MaybeHook,
  >(options: OutboxOptions<Tx, StoreTx, TxOptions, Hook>): Inferred<Tx, StoreTx, TxOptions, Hook> {
    return new Outbox('singleNode', options)
  }

  /** For many delivering processes at once. Each leases the rows it delivers. */
  static multiNode<StoreTx, Tx = StoreTx, TxOptions = TransactionOptions, Hook extends MaybeHook = MaybeHook>(
    options: OutboxOptions<Tx, StoreTx, TxOptions, Hook>,
  ): Inferred<Tx, StoreTx, TxOptions, Hook> {
    return new Outbox('multiNode', options)
  }

  /**
   * For a relay in which one process at a time delivers: the one that gets the lock of a tick. Each process
   * also sends its own events right after their commits, through a circuit breaker.
   */
  static singleWriter<
    StoreTx,
    Tx = StoreTx,
    TxOptions = TransactionOptions,
    Hook extends MaybeHook = MaybeHook,
  >(options: SingleWriterOptions<Tx, StoreTx, TxOptions, Hook>): Inferred<Tx, StoreTx, TxOptions, Hook> {
    return new Outbox('singleWriter', options)
  }

  /**
   * For delivery in write order. A single worker among all processes delivers, under a lock. It begins an
   * event only after the one before it is settled. A failed event is DEAD after one attempt by default.
   */
  static ordered<StoreTx, Tx = StoreTx, TxOptions = TransactionOptions, Hook extends MaybeHook = MaybeHook>(
    options: OrderedOptions<Tx, StoreTx, TxOptions, Hook>,
  ): Inferred<Tx, StoreTx, TxOptions, Hook> {
    return new Outbox('ordered', options)
  }

  /**
   * For delivery in write order within each ordering key, by many processes at once. They share the keys, and
   * deliver the events of each key one by one, even when some fail and are retried. Other keys continue
   * meanwhile.
   */
  static partitioned<
    StoreTx,
    Tx = StoreTx,
    TxOptions = TransactionOptions,
    Hook extends MaybeHook = MaybeHook,
  >(options: PartitionedOptions<Tx, StoreTx, TxOptions, Hook>): Inferred<Tx, StoreTx, TxOptions, Hook> {
    return new Outbox('partitioned', options)
  }

  /** For processes that only write: other processes, or a change-data-capture reader, deliver. */
  static writerOnly<
    StoreTx,
    Tx = StoreTx,
    TxOptions = TransactionOptions,
    Hook extends MaybeHook = MaybeHook,
  >(
    options: WriterOnlyOptions<Tx, StoreTx, TxOptions, Hook>,
  ): WriterOutbox<NoInfer<Tx>, NoInfer<StoreTx>, NoInfer<TxOptions>, WrittenId<NoInfer<Hook>>> {
    return new WriterOutbox(new OutboxCore('writerOnly', options))
  }

  /**
   * Registers a listener that is bound to its event, in the option `listeners` or in this outbox's own
   * registry.
   */
  on(listener: BoundEventListener<never>, options?: ListenerOptions): this
  /** Registers a listener for an event of one aggregate type. */
  on(
    aggregateType: string | AggregateType,
    eventType: string | EventType,
    listener: AnyListener<unknown>,
    options?: ListenerOptions<unknown>,
  ): this
  /** Registers one listener for several events. */
  on(
    events: readonly EventTypeLike[],
    listener: AnyListener<unknown>,
    options?: ListenerOptions<unknown>,
  ): this
  /** Registers a listener for an event without an aggregate type. */
  on(eventType: string, listener: AnyListener<unknown>, options?: ListenerOptions<unknown>): this
  /** Registers a listener for a defined event. It gets the payload typed and checked. */
  on<Input, Output>(
    event: DefinedEvent<Input, Output>,
    listener: AnyListener<Output>,
    options?: ListenerOptions<Output>,
  ): this
  on(...args: readonly unknown[]): this {
    this.#core.listeners.register(...(args as Parameters<ListenerRegistry['register']>))
    if (this.#core.isStarted) this.#core.requireKnownDestinations()
    // Events of this type may be waiting for a listener.
    this.wake()
    return this
  }

  /** The state of the circuit breaker between commits and listeners; undefined without one. */
  get circuitBreakerState(): CircuitBreakerState | undefined {
    return this.#engine.unnamed.breaker?.state
  }

  /** Polls for due rows now, and resolves when they are in the queue. */
  async poll(): Promise<void> {
    this.#core.requireStarted('poll')
    await this.#engine.poll()
  }

  /** Makes the poller poll for due rows after `inMs` milliseconds: 0. Does not wait for the poll. */
  wake(inMs = 0): void {
    if (this.#core.isStarted) this.#engine.wakePollers(inMs)
  }

  /** Resolves when nothing due is left here: in the table, in a queue, or with a listener. */
  async drain(): Promise<void> {
    this.#core.requireStarted('drain')
    do {
      await this.#engine.poll()
      const found = this.#engine.heldRows > 0
      await this.#engine.idle()
      if (!found) return
    } while (this.#core.isStarted)
  }
}
