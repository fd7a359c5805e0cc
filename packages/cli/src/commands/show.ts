import type { EventDetail, OutboxAdmin, StoredRow } from 'sendoff/admin'
import { CommandError } from '../command-error.ts'
import { exitCodes } from '../exit-codes.ts'
import { laidOutJson } from '../terminal/laid-out-json.ts'
import type { Paint } from '../terminal/paint.ts'
import { printable } from '../terminal/printable.ts'
import { timeJson, timeText } from '../terminal/shown-values.ts'
import { tableText } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import type { Command } from './command-call.ts'
import type { CommonOptions } from './command-options.ts'
import { withSession } from './session.ts'
import { auditColumns, auditJson, eventColumns, eventJson, stateOf, stateStyle } from './shown-event.ts'

/** Options of `sendoff show`. */
export interface ShowOptions extends CommonOptions {
  readonly destination?: string
}

/** Prints everything about one event. */
export const show: Command<ShowOptions> = async (call) => {
  const { options, terminal } = call
  const id = call.arguments[0]!
  return withSession(call, async ({ admin }) => {
    const destination = options.destination ?? (await onlyDestination(admin, id))
    const detail = await admin.event(id, destination)
    if (detail === undefined) throw new CommandError(noEvent(id, options.destination), exitCodes.negative)
    if (terminal.isJson) terminal.printJson(detailJson(detail))
    else printDetail(terminal, detail)
    return exitCodes.done
  })
}

/** Returns the only destination of an event. If there are several, the operator has to choose. */
async function onlyDestination(admin: OutboxAdmin<unknown>, eventId: string): Promise<string> {
  const { events } = await admin.browse({ eventId }, { limit: 1_000, order: 'oldest' })
  if (events.length <= 1) return events[0]?.destination ?? ''
  const names = events.map(({ destination }) => destination || "''")
  throw new CommandError(
    `Event ${eventId} has ${events.length} destinations: ${names.join(', ')}. Choose one with --destination.`,
    exitCodes.usage,
  )
}

function noEvent(id: string, destination: string | undefined): string {
  const where = destination === undefined ? '' : ` for destination "${destination}"`
  return `There is no event ${id}${where}. It may have been purged, or the store is another one.`
}

function detailJson({ row, attempts, audit, neighbours }: EventDetail): object {
  return {
    event: eventJson(row),
    attempts: attempts.map(({ failedAt, ...same }) => ({ ...same, failedAt: timeJson(failedAt) })),
    audit: audit.map(auditJson),
    neighbours: { before: neighbours.before.map(eventJson), after: neighbours.after.map(eventJson) },
  }
}

function printDetail(terminal: Terminal, { row, attempts, audit, neighbours }: EventDetail): void {
  const { paint, width } = terminal
  const title = (text: string) => `\n${paint('bold', text)}`
  const state = stateOf(row)
  const style = stateStyle(state)
  terminal.print(`${paint('bold', printable(row.eventType))}  ${style ? paint(style, state) : state}`)
  for (const [name, value] of fieldsOf(row)) {
    if (value !== null) terminal.print(`  ${paint('dim', name.padEnd(14))}${printable(value)}`)
  }
  terminal.print(title('payload'))
  terminal.print(payloadText(row))
  if (row.headers !== null) {
    terminal.print(title('headers'))
    terminal.print(linesOf(row.headers))
  }
  if (attempts.length > 0) terminal.print(title('failed attempts'))
  for (const { failedAt, attempts: number, error, lockedBy } of attempts) {
    terminal.print(`  ${timeText(failedAt)}  ${number}  ${printable(error)}${byWorker(paint, lockedBy)}`)
  }
  if (audit.length > 0)
    terminal.print(`${title('operators')}\n${tableText(audit, auditColumns, { paint, width })}`)
  const near = [...neighbours.before.toReversed(), row, ...neighbours.after]
  if (near.length > 1) {
    terminal.print(
      `${title('neighbours of the same key')}\n${tableText(near, eventColumns, { paint, width })}`,
    )
  }
}

function fieldsOf(row: StoredRow): readonly (readonly [name: string, value: string | null])[] {
  const { doneAt, blockedAt, lockedBy, lockedUntil } = row
  return [
    ['id', row.eventId],
    ['destination', row.destination || null],
    [
      'aggregate',
      row.aggregateId === null ? row.aggregateType || null : `${row.aggregateType}/${row.aggregateId}`,
    ],
    ['ordering key', row.orderingKey],
    ['tenant', row.tenantId],
    ['seq', String(row.seq)],
    ['written', timeText(row.createdAt)],
    ['due', timeText(row.availableAt)],
    ['ended', doneAt === null ? null : timeText(doneAt)],
    ['blocked', blockedAt === null ? null : timeText(blockedAt)],
    [
      'held by',
      lockedBy === null
        ? null
        : `${lockedBy}${lockedUntil === null ? '' : ` until ${timeText(lockedUntil)}`}`,
    ],
    ['attempts', String(row.attempts)],
    ['last error', row.lastError],
  ]
}

function payloadText({ payload, contentType }: StoredRow): string {
  if (payload instanceof Uint8Array) return `  ${payload.length} bytes of ${contentType ?? 'unknown content'}`
  return linesOf(payload)
}

function linesOf(json: string): string {
  try {
    return laidOutJson(json)
      .split('\n')
      .map((line) => `  ${printable(line)}`)
      .join('\n')
  } catch {
    return `  ${printable(json)}`
  }
}

function byWorker(paint: Paint, worker: string | null): string {
  return worker === null ? '' : paint('dim', `  on ${printable(worker)}`)
}
