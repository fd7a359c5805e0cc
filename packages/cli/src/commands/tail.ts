import { setTimeout as wait } from 'node:timers/promises'
import type { EventFilter, OutboxAdmin, StoredRow } from 'sendoff/admin'
import { usageError } from '../command-error.ts'
import { exitCodes } from '../exit-codes.ts'
import { printable } from '../terminal/printable.ts'
import { cut, durationText, timeText } from '../terminal/shown-values.ts'
import type { Terminal } from '../terminal/terminal.ts'
import type { Command } from './command-call.ts'
import type { CommonOptions, FilterOptions } from './command-options.ts'
import { filterOf } from './event-filter.ts'
import { type EventChange, FollowedEvents } from './followed-events.ts'
import { withSession } from './session.ts'
import { eventJson, stateOf, stateStyle } from './shown-event.ts'
import { stopSignal } from './stop-signal.ts'
import { positiveNumber, wholeNumber } from './whole-number.ts'

/** Options of `sendoff tail`. */
export interface TailOptions extends CommonOptions, FilterOptions {
  readonly limit: string
  readonly interval: string
}

/** Prints new events as they are written, and what becomes of them, until Ctrl-C. */
export const tail: Command<TailOptions> = async (call) => {
  const { options, terminal, secrets } = call
  if (options.until !== undefined)
    throw usageError('--until has no meaning for events that are still to come.')
  if (options.status !== undefined)
    throw usageError('--status has no meaning here: tail follows events through all states.')
  const filter = filterOf(options)
  const first = wholeNumber('--limit', options.limit, 0, 1_000)
  const intervalMs = positiveNumber('--interval', options.interval) * 1_000

  return withSession(call, async ({ admin }) => {
    const stop = stopSignal(call.signals, terminal.closed)
    const printer = new ChangePrinter(terminal)
    const followed = new FollowedEvents({ ...readsOf(admin, filter), first })
    try {
      let problem: string | undefined
      for (const change of await followed.look()) printer.print(change)
      if (!terminal.isJson) terminal.note('Following new events. Ctrl-C ends.')
      for (;;) {
        await wait(intervalMs, undefined, { signal: stop.signal }).catch(() => {})
        if (stop.signal.aborted) break
        try {
          for (const change of await followed.look()) printer.print(change)
          problem = undefined
        } catch (error) {
          // A database may be away for a while. It is told once.
          const text = secrets.hide(error instanceof Error ? error.message : String(error))
          if (text !== problem) terminal.note(text)
          problem = text
        }
      }
    } finally {
      stop.release()
    }
    return exitCodes.done
  })
}

function readsOf(admin: OutboxAdmin<unknown>, filter: EventFilter) {
  return {
    newest: (limit: number, cursor?: string) =>
      admin.browse(filter, { limit, order: 'newest', ...(cursor !== undefined && { cursor }) }),
    one: async ({ eventId, destination }: StoredRow) =>
      (await admin.browse({ eventId, destination }, { limit: 1 })).events[0],
  }
}

/** Prints changes as lines with columns that grow with what they hold. */
class ChangePrinter {
  readonly #terminal: Terminal
  readonly #widths: number[] = []

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  print(change: EventChange): void {
    const terminal = this.#terminal
    if (!terminal.isJson) terminal.print(this.#lineOf(change))
    else if (change.kind === 'missed') terminal.printJson(change, true)
    else terminal.printJson({ kind: change.kind, event: eventJson(change.row) }, true)
  }

  #lineOf(change: EventChange): string {
    const { paint, width = Infinity } = this.#terminal
    if (change.kind === 'missed') return paint('yellow', '… more events were written than tail can show.')
    const { row } = change
    const state = change.kind === 'gone' ? 'GONE' : stateOf(row)
    const at = timeText(change.kind === 'written' ? row.createdAt : (row.doneAt ?? Date.now())).slice(-8)
    const head = [
      paint('dim', at),
      paint(stateStyle(state) ?? 'dim', state.padEnd(7)),
      paint('dim', row.eventId),
    ].join('  ')
    const names = [row.eventType, row.destination, row.orderingKey ?? row.aggregateId ?? ''].map(printable)
    const note = printable(noteOf(change))
    const start = [at, state.padEnd(7), row.eventId, ''].join('  ').length
    const columns = names.map((text, index) => this.#padded(text, index)).join(' ')
    if (start + columns.length + (note === '' ? 0 : 2 + note.length) <= width) {
      return `${head}  ${columns}  ${note}`.trimEnd()
    }
    // An error goes on in a second line. How long a delivery took is not worth one.
    const isError = row.lastError !== null && row.status !== 1
    const close = names.filter((text) => text !== '').join(' ')
    const body = start + columns.length <= width ? columns.trimEnd() : cut(close, Math.max(1, width - start))
    const line = `${head}  ${body}`
    return isError ? `${line}\n${indent}${cut(note, Math.max(1, width - indent.length))}` : line
  }

  #padded(text: string, column: number): string {
    const width = Math.max(this.#widths[column] ?? 0, text.length)
    this.#widths[column] = width
    return text.padEnd(width)
  }
}

/** A second line begins below the state. */
const indent = ' '.repeat(10)

function noteOf(change: Exclude<EventChange, { kind: 'missed' }>): string {
  const { row, kind } = change
  if (kind === 'gone') return 'delivered and deleted, or purged'
  if (row.lastError !== null && row.status !== 1) return `attempt ${row.attempts}: ${row.lastError}`
  return row.doneAt === null ? '' : `after ${durationText(row.doneAt - row.createdAt)}`
}
