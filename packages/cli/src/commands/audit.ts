import { exitCodes } from '../exit-codes.ts'
import { tableText } from '../terminal/table.ts'
import type { Command } from './command-call.ts'
import type { CommonOptions } from './command-options.ts'
import { withSession } from './session.ts'
import { auditColumns, auditJson } from './shown-event.ts'
import { wholeNumber } from './whole-number.ts'

/** Options of `sendoff audit`. */
export interface AuditCommandOptions extends CommonOptions {
  readonly limit: string
  readonly cursor?: string
}

/** Prints what operators did, or one entry. */
export const audit: Command<AuditCommandOptions> = async (call) => {
  const { options, terminal } = call
  const [id] = call.arguments
  const limit = wholeNumber('--limit', options.limit, 1, 1_000)
  return withSession(call, async ({ admin }) => {
    if (id !== undefined) {
      terminal.printJson(auditJson(await admin.audit.entry(id)))
      return exitCodes.done
    }
    const { cursor } = options
    const page = await admin.audit.list({ limit, ...(cursor !== undefined && { cursor }) })
    if (terminal.isJson) {
      terminal.printJson({ entries: page.entries.map(auditJson), cursor: page.cursor ?? null })
    } else {
      if (page.entries.length === 0) terminal.note('No operator has done anything yet.')
      else terminal.print(tableText(page.entries, auditColumns, terminal))
      if (page.cursor !== undefined) terminal.note(`There are more: --cursor ${page.cursor}`)
    }
    return exitCodes.done
  })
}
