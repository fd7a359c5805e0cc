import type { Command as CommanderCommand } from 'commander'
import type { Command } from '../commands/command-call.ts'

/** Loads the code of a command. */
export type LoadCommand = () => Promise<Command<never>>

/** Runs the command that the operator has chosen. */
export type RunCommand = (load: LoadCommand, options: object, args: readonly string[]) => Promise<void>

/** Makes a command load and run its code when it is chosen, and not before: so `--help` stays fast. */
export function runs(command: CommanderCommand, run: RunCommand, load: LoadCommand): CommanderCommand {
  return command.action(async (...given: unknown[]) => {
    const self = given.at(-1) as CommanderCommand
    await run(load, self.optsWithGlobals(), self.args)
  })
}
