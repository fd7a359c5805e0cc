import type { OutboxAdmin } from 'sendoff/admin'
import { usageError } from '../command-error.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Command } from './command-call.ts'
import type { CommonOptions } from './command-options.ts'
import { withSession } from './session.ts'
import { type Status, statusJson, statusText } from './shown-status.ts'
import { positiveNumber } from './whole-number.ts'

/** Options of `sendoff status`. */
export interface StatusOptions extends CommonOptions {
  readonly watch?: boolean
  readonly interval?: string
}

/** Prints the state of an outbox, once or again and again. */
export const status: Command<StatusOptions> = async (call) => {
  const { options, terminal } = call
  if (options.interval !== undefined && !options.watch) throw usageError('--interval belongs to --watch.')
  const seconds = positiveNumber('--interval', options.interval ?? '2')
  if (options.watch && !terminal.isJson && terminal.width === undefined) {
    throw usageError('--watch draws on a terminal, and there is none. Leave it out, or add --json.')
  }
  return withSession(call, async ({ admin }) => {
    if (options.watch) {
      const { watchStatus } = await import('./watch-status.ts')
      await watchStatus(call, () => readStatus(admin), seconds * 1_000)
      return exitCodes.done
    }
    const state = await readStatus(admin)
    if (terminal.isJson) terminal.printJson(statusJson(state))
    else terminal.print(statusText(state, terminal))
    return exitCodes.done
  })
}

async function readStatus(admin: OutboxAdmin<unknown>): Promise<Status> {
  const [overview, destinations, minutes] = await Promise.all([
    admin.overview(),
    admin.destinations(),
    admin.deliveries(),
  ])
  return { overview, destinations, minutes }
}
