import { randomUUID } from 'node:crypto'
import type { NewRow } from '../../store.ts'
import type { KnownResult, RecordedInsert } from './recorded-transaction.ts'
import { textOfRow } from './row-text.ts'

/** Clients hand arguments on in calls, which take some ten thousand of them. */
export const rowsPerScript = 10_000

/** An insert in parts that a script can make each. */
export function insertParts(insert: RecordedInsert): readonly RecordedInsert[] {
  const { rows } = insert
  if (rows.length <= rowsPerScript) return [insert]
  return Array.from({ length: Math.ceil(rows.length / rowsPerScript) }, (_, index) => ({
    ...insert,
    rows: rows.slice(index * rowsPerScript, (index + 1) * rowsPerScript),
  }))
}

/** The arguments of the script that adds these rows, whose leases are alike. */
export function insertArguments(inserts: readonly RecordedInsert[], channel: string): string[] {
  const { owner, ms } = inserts[0]!.lease
  const announce = inserts.some((insert) => insert.announce)
  const values = [owner, String(ms), announce ? channel : '', nextWrite()]
  for (const { rows } of inserts) for (const row of rows) values.push(...rowArguments(row))
  return values
}

/** Tells each insert what became of its rows, by the answers of the script. */
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

function rowArguments(row: NewRow): string[] {
  const { due, idempotencyKey } = row
  return [
    row.eventId,
    row.destination,
    textOfRow(row),
    'at' in due ? `@${due.at}` : `+${due.inMs}`,
    row.claimed ? '1' : '0',
    idempotencyKey === null ? '' : `=${idempotencyKey}`,
  ]
}

const processName = randomUUID().slice(0, 8)
let writes = 0

/** A name for a write that no other write of the same events has. */
function nextWrite(): string {
  writes += 1
  return `${processName}${writes.toString(36)}`
}
