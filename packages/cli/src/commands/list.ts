import type { BrowseOptions } from 'sendoff/admin'
import { usageError } from '../command-error.ts'
import { exitCodes } from '../exit-codes.ts'
import { tableText } from '../terminal/table.ts'
import type { Command } from './command-call.ts'
import type { CommonOptions, FilterOptions } from './command-options.ts'
import { filterOf } from './event-filter.ts'
import { withSession } from './session.ts'
import { eventColumns, eventJson } from './shown-event.ts'
import { wholeNumber } from './whole-number.ts'

/** Options of `sendoff list`. */
export interface ListOptions extends CommonOptions, FilterOptions {
  readonly limit: string
  readonly oldest?: boolean
  readonly cursor?: string
}

/** Prints one page of events. */
export const list: Command<ListOptions> = async (call) => {
  const { options, terminal } = call
  const filter = filterOf(options)
  const limit = wholeNumber('--limit', options.limit, 1, 1_000)
  if (options.cursor === '')
    throw usageError('--cursor is empty. Pass on the cursor that the page before printed.')
  const page: BrowseOptions = {
    limit,
    order: options.oldest ? 'oldest' : 'newest',
    ...(options.cursor !== undefined && { cursor: options.cursor }),
  }

  return withSession(call, async ({ admin }) => {
    const { events, cursor, isCut, lookedTo } = await admin.browse(filter, page)
    if (terminal.isJson) {
      terminal.printJson({ events: events.map(eventJson), cursor: cursor ?? null, isCut })
      return exitCodes.done
    }
    const { paint, width } = terminal
    if (events.length > 0) terminal.print(tableText(events, eventColumns, { paint, width }))
    else terminal.note('No event matches.')
    if (isCut)
      terminal.note(
        `The search took long and was cut at event ${lookedTo?.eventId ?? ''}. Continue with --cursor ${cursor}`,
      )
    else if (cursor !== undefined) terminal.note(`There are more: --cursor ${cursor}`)
    return exitCodes.done
  })
}
