import type { SqliteTables } from '../schema/sqlite-tables.ts'
import { unblocked } from './row-conditions.ts'

/** The statements about named locks and what their owners hold. */
export function lockStatementsFor({ table, events, lock }: SqliteTables) {
  return {
    // ? name. By primary key.
    lock: `
  select token, until, low_at as lowAt, low_seq as lowSeq, high_at as highAt, high_seq as highSeq, held
    from ${lock}
   where name = ?`,

    // ? name, ? token, ? until. By primary key.
    takeLock: `
  insert into ${lock} (name, token, until)
  values (?, ?, ?)
  on conflict (name) do update set token = excluded.token, until = excluded.until`,

    // ? until, ? name, ? token, ? now. By primary key.
    renewLock: `update ${lock} set until = ? where name = ? and token = ? and until > ?`,

    // ? name, ? token. By primary key. What the owner held is forgotten with the row.
    releaseLock: `delete from ${lock} where name = ? and token = ?`,

    // ? available_at and ? seq of both ends, ? name. By primary key.
    recordBounds: `
  update ${lock}
     set low_at = ?, low_seq = ?, high_at = ?, high_seq = ?
   where name = ?`,

    // ? available_at and ? seq of both ends, ? destination or null for any, ? the same. Reads <table>_due
    // between them: about as many rows as the vanished owner held.
    countLosses: `
  update ${events}
     set losses = losses + 1, deliveries = deliveries + 1
   where ${unblocked}
     and (available_at, seq) >= (?, ?)
     and (available_at, seq) <= (?, ?)
     and locked_by is null
     and (? is null or destination = ?)`,

    // ? destination, ? available_at and ? seq of both ends. As countLosses, by <table>_destination.
    countLossesOf: `
  update ${events} indexed by "${table}_destination"
     set losses = losses + 1, deliveries = deliveries + 1
   where destination = ?
     and ${unblocked}
     and (available_at, seq) >= (?, ?)
     and (available_at, seq) <= (?, ?)
     and locked_by is null`,

    // ? name. By primary key.
    forgetHeld: `
  update ${lock}
     set low_at = null, low_seq = null, high_at = null, high_seq = null, held = null
   where name = ?`,
  } as const
}
