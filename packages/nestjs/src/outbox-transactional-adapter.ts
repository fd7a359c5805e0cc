import type { InjectionToken } from '@nestjs/common'
import { OutboxError, type TransactionOptions, type WriterOutbox } from 'sendoff'
import { getOutboxToken } from './outbox-tokens.ts'

/** Options of `OutboxTransactionalAdapter`. */
export interface OutboxTransactionalAdapterOptions<Tx> {
  /** The name of the outbox. Default: the one without a name. */
  readonly outbox?: string
  /**
   * The token of what `TransactionHost.tx` is outside of a transaction, such as `DataSource` of TypeORM.
   * Without it, `TransactionHost.tx` throws there.
   */
  readonly fallback?: InjectionToken
  /** Makes the value from the provider of `fallback`: `(dataSource) => dataSource.manager`. */
  readonly fallbackTx?: (provider: never) => Tx
}

/**
 * An adapter for `@nestjs-cls/transactional`: `@Transactional()` opens a transaction of the outbox, with the
 * transactions of its option `transactions`. `outbox.write` inside is part of it, and its events go straight
 * from the commit to a worker.
 */
export class OutboxTransactionalAdapter<Tx, TxOptions = TransactionOptions> {
  readonly connectionToken: InjectionToken
  readonly extraProviderTokens: InjectionToken[]
  readonly #fallbackTx: (provider: never) => Tx

  constructor(options: OutboxTransactionalAdapterOptions<Tx> = {}) {
    const { outbox, fallback, fallbackTx = (provider: Tx) => provider } = options
    this.connectionToken = getOutboxToken(outbox)
    this.extraProviderTokens = fallback === undefined ? [] : [fallback]
    this.#fallbackTx = fallbackTx
  }

  /** Returns how `@nestjs-cls/transactional` runs a transaction. */
  readonly optionsFactory = (
    outbox: WriterOutbox<Tx, unknown, TxOptions, string | null>,
    fallbacks: readonly unknown[],
  ): TransactionRunner<Tx, TxOptions> => ({
    wrapWithTransaction: (options, work, setTx) => {
      if (outbox.txContext.isTransactionActive() === true) return Promise.reject(insideTransaction())
      return runIn(outbox, options, work, setTx)
    },
    wrapWithNestedTransaction: (options, work, setTx) => runIn(outbox, options, work, setTx),
    getFallbackInstance: () => {
      if (fallbacks.length === 0) throw noFallback()
      return this.#fallbackTx(fallbacks[0] as never)
    },
  })
}

/** How `@nestjs-cls/transactional` runs a transaction. */
export interface TransactionRunner<Tx, TxOptions> {
  wrapWithTransaction(
    options: TxOptions,
    work: () => Promise<unknown>,
    setTx: (tx?: Tx) => void,
  ): Promise<unknown>
  wrapWithNestedTransaction(
    options: TxOptions,
    work: () => Promise<unknown>,
    setTx: (tx?: Tx) => void,
  ): Promise<unknown>
  getFallbackInstance(): Tx
}

function runIn<Tx, TxOptions>(
  outbox: WriterOutbox<Tx, unknown, TxOptions, string | null>,
  options: TxOptions,
  work: () => Promise<unknown>,
  setTx: (tx?: Tx) => void,
): Promise<unknown> {
  return outbox.transaction((tx) => {
    setTx(tx)
    return work()
  }, options)
}

function insideTransaction(): OutboxError {
  return new OutboxError(
    'OUTBOX_INSIDE_TRANSACTION',
    'A transaction of this outbox is open here, so no other one can begin beside it. Use Propagation.Required to be part of it, or Propagation.Nested for a part that can fail alone. Instead of Propagation.RequiresNew, begin the other transaction before this one.',
  )
}

function noFallback(): OutboxError {
  return new OutboxError(
    'OUTBOX_NO_TRANSACTION',
    'No transaction is open here, and the OutboxTransactionalAdapter has no fallback. Add @Transactional() to the method, or give the adapter the option "fallback".',
  )
}
