import { randomUUID } from 'node:crypto'
import { OutboxError } from '../../errors.ts'
import type { InsertRequest, InsertResult, Lease, NewRow } from '../../store/index.ts'
import { textOfWakeUp, wakeUpForLater } from '../wake-up-text.ts'
import type { TransactionPlace } from './drivers/commit-transaction.ts'
import { type KnownResult, type RecordedInsert, transactionOf } from './drivers/recorded-transaction.ts'
import { textOfRow } from './row-text.ts'
import { insertScript, stageScript } from './scripts/insert-script.ts'
import type { Script } from './scripts/script.ts'
import { announceScript } from './scripts/upkeep-scripts.ts'

/**
 * The most rows of one script. Clients pass arguments on in function calls, which take some ten thousand of
 * them.
 */
const rowsPerScript = 10_000

/** The most rows of a transaction. A script runs alone on the server, and this limits for how long. */
const maxRows = 100_000

/** Adds rows to a transaction of the store, or to a MULTI of its client that has not been sent. */
export async function insertRows(
  { driver, keyspace, channel }: TransactionPlace,
  { tx, rows, lease, announce = false }: InsertRequest<object>,
): Promise<readonly InsertResult[]> {
  const insert = { rows, lease, announce, results: undefined }
  const transaction = transactionOf(tx)
  if (transaction !== undefined) return transaction.record(insert)

  if (!driver.isOpenMulti(tx)) noTransaction()
  for (const { script, values } of insertCommands([insert], channel)) {
    driver.queue(tx, script, keyspace, values)
  }
  const later = announce ? wakeUpForLater(rows, Date.now()) : undefined
  if (later !== undefined) driver.queue(tx, announceScript, keyspace, [channel, textOfWakeUp(later)])
  return rows.map(() => ({ kind: 'queued', result: () => undefined }))
}

/** A script and its arguments. */
export interface InsertCommand {
  readonly script: Script
  readonly values: readonly string[]
}

/**
 * Returns the scripts that add all of these rows, or none: mostly one. For many rows, earlier scripts of the
 * same MULTI collect the arguments. Only the last script adds rows.
 */
export function insertCommands(
  inserts: readonly RecordedInsert[],
  channel: string,
): readonly InsertCommand[] {
  const total = inserts.reduce((sum, { rows }) => sum + rows.length, 0)
  if (total === 0) return []
  if (total > maxRows) throw tooManyEvents(total)

  const announced = inserts.some(({ announce }) => announce) ? channel : ''
  const write = nextWrite()
  const commands: InsertCommand[] = []
  let gathered = 0
  let count = 0
  let values = [announced, write, '0']
  for (const { rows, lease } of inserts) {
    for (const row of rows) {
      if (count === rowsPerScript) {
        commands.push({ script: stageScript, values: values.slice(2) })
        gathered += count
        count = 0
        values = [announced, write, String(gathered)]
      }
      values.push(...rowArguments(row, lease))
      count += 1
    }
  }
  return [...commands, { script: insertScript, values }]
}

/** Passes the results of the script to each insert. */
export function tellResults(inserts: readonly RecordedInsert[], answers: readonly unknown[]): void {
  let index = 0
  for (const insert of inserts) {
    insert.results = insert.rows.map((row): KnownResult => {
      const answer = answers[index++]
      return typeof answer === 'number'
        ? { kind: 'inserted', seq: answer, deliveries: row.claimed ? 1 : 0, certain: true }
        : { kind: 'duplicate', eventId: String(answer) }
    })
  }
}

function rowArguments(row: NewRow, lease: Lease | undefined): string[] {
  const { due, idempotencyKey } = row
  return [
    row.eventId,
    row.destination,
    textOfRow(row),
    'at' in due ? `@${due.at}` : `+${due.inMs}`,
    row.claimed ? `${lease!.ms} ${lease!.owner}` : '',
    idempotencyKey === null ? '' : `=${idempotencyKey}`,
  ]
}

const processName = randomUUID().slice(0, 8)
let writes = 0

/** Returns a name for a write that no other write of the same events has. */
function nextWrite(): string {
  writes += 1
  return `${processName}${writes.toString(36)}`
}

function tooManyEvents(count: number): OutboxError {
  return new OutboxError(
    'OUTBOX_TOO_MANY_EVENTS',
    `The transaction has ${count} events; on Redis, which does nothing else meanwhile, at most ${maxRows} are written at once. ` +
      'Nothing was written. Write them in several transactions.',
  )
}

/** Throws because `tx` is not a transaction. */
export function noTransaction(): never {
  throw new OutboxError(
    'OUTBOX_NO_TRANSACTION',
    'A Redis store writes in its own transactions, or in a MULTI of its client that has not been sent. ' +
      'Pass the tx that transaction() hands out, or what client.multi() returns.',
  )
}
