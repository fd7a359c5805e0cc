import { OutboxError } from '../errors.ts'
import { anything, checkOptions, text } from '../options.ts'
import { type CancelAnswer, type OutboxStore, requireParts } from '../store/index.ts'
import type { AmbientTransactions } from '../write/ambient-transactions.ts'
import type { TxContext } from '../write/tx-context.ts'

/** The event to cancel: by its id, or by the idempotency key that it was written with. */
export type CancelTarget = string | { readonly eventId: string } | { readonly idempotencyKey: string }

/** Options of `outbox.cancel`. */
export interface CancelOptions<Tx> {
  /** The error text of the event, which is DEAD then. Default: `Cancelled.` */
  readonly reason?: string
  /** The transaction to cancel in. Default: the ambient one, or a transaction of its own. */
  readonly tx?: Tx
}

/** The parts that a cancellation needs. */
export interface CancelParts<Tx, StoreTx, TxOptions> {
  readonly store: OutboxStore<StoreTx>
  readonly transactions: AmbientTransactions<Tx, StoreTx, TxOptions>
  readonly actor: string
}

/** Cancels a pending event that no worker holds, in the caller's transaction if there is one. */
export async function cancelEvent<Tx, StoreTx, TxOptions>(
  { store, transactions, actor }: CancelParts<Tx, StoreTx, TxOptions>,
  target: CancelTarget,
  options: CancelOptions<Tx> = {},
): Promise<CancelAnswer> {
  checkOptions('cancel', options, { reason: text, tx: anything })
  const event = checkedTarget(target)
  const { reason = 'Cancelled.', tx } = options
  const { actions } = requireParts(store, ['actions'], 'outbox.cancel')
  const audit = { actor, action: 'cancel', detail: JSON.stringify({ ...event, reason }) }
  const ambient = transactions.current()
  const current = ambient?.isTransactionActive() ? ambient : undefined
  const context = tx === undefined ? current : transactions.contextOf(tx)

  if (actions.cancelWithin === undefined) {
    if (context !== undefined || 'idempotencyKey' in event) throw cannotCancelWithin()
    const { people } = requireParts(store, ['people'], 'outbox.cancel')
    const rows = await people.query({ eventId: event.eventId, limit: 1_000 })
    const answer = await actions.run({ action: 'cancel', rows, reason, audit })
    const { rows: cancelled, held } = answer as Extract<typeof answer, { kind: 'ran' }>
    return { eventId: rows[0]?.eventId, rows: cancelled, held }
  }
  const within = (storeTx: StoreTx) => actions.cancelWithin!({ tx: storeTx, event, reason, audit })
  if (context === undefined) return store.transaction(within)
  return tracked(context, () => within(context.currentTransaction()))
}

function tracked<StoreTx, Result>(context: TxContext<StoreTx>, work: () => Promise<Result>): Promise<Result> {
  return context.track === undefined ? work() : context.track(work)
}

function checkedTarget(target: CancelTarget): { eventId: string } | { idempotencyKey: string } {
  const event = typeof target === 'string' ? { eventId: target } : (target ?? {})
  checkOptions('cancel', event, { eventId: text, idempotencyKey: text })
  const given = Object.entries(event).filter(([, value]) => value !== undefined)
  if (given.length === 1) return Object.fromEntries(given) as { eventId: string }
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    'Name the event to cancel: its id, { eventId } or { idempotencyKey }.',
  )
}

function cannotCancelWithin(): OutboxError {
  return new OutboxError(
    'OUTBOX_STORE_CANNOT',
    'This store cannot cancel an event inside a transaction, nor by its idempotency key. ' +
      'Call outbox.cancel(eventId) outside of any transaction.',
  )
}
