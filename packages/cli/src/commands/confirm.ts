import { CommandError } from '../command-error.ts'
import { exitCodes } from '../exit-codes.ts'
import type { CommandCall } from './command-call.ts'

/** Asks the operator, unless `--yes` is there. Throws if the reply is no, or if there is no terminal. */
export async function confirm(
  { options, terminal }: CommandCall<{ readonly yes?: boolean }>,
  question: string,
): Promise<void> {
  if (options.yes) return
  if (!terminal.canAsk) {
    throw new CommandError(
      'This command asks before it acts, and there is no terminal to ask on. Pass --yes to act without a question.',
      exitCodes.declined,
    )
  }
  const reply = await terminal.ask(`${question} [y/N] `)
  if (/^y(es)?$/i.test(reply.trim())) return
  throw new CommandError('Nothing was done.', exitCodes.declined)
}
