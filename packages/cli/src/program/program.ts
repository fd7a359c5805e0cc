import { Command } from 'commander'
import { addActingCommands } from './acting-commands.ts'
import { addLookingCommands } from './looking-commands.ts'
import { addRunningCommands } from './running-commands.ts'
import type { RunCommand } from './run-command.ts'

/** What a program needs from outside. */
export interface ProgramParts {
  readonly version: string
  readonly run: RunCommand
  /** Prints an error of the parser. */
  readonly printError: (text: string) => void
}

/** Makes the parser of all commands and options. Loads the code of no command. */
export function makeProgram({ version, run, printError }: ProgramParts): Command {
  const program = new Command('sendoff')
    .description('Look at a transactional outbox, act on it, and relay its events.')
    .version(version, '-V, --version', 'print the version')
    .option('--url <address>', 'the store: sqlite:FILE, postgres://, mysql:// or redis://; or SENDOFF_URL')
    .option('--config <file>', 'the configuration (default: sendoff.config.ts, .js or .mjs in this folder)')
    .option('--table <name>', 'the table of events, or the prefix of the keys in Redis')
    .option('--schema <name>', 'the schema of the tables in PostgreSQL')
    .option('--as <name>', 'who acts, for the audit; or SENDOFF_ACTOR (default: user@host)')
    .option('--json', 'print JSON')
    .option('--no-color', 'print no colours; so does NO_COLOR')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({ outputError: (text) => printError(text.replace(/^error: /, '').trim()) })
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false })
    .addHelpText(
      'after',
      '\nExamples:\n  $ sendoff status --url postgres://localhost/shop\n  $ sendoff doctor\n  $ sendoff replay --type OrderPlaced --since 2h\n\n' +
        'Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no database, 4 the answer is no, 5 declined, 130 interrupted.',
    )
  addLookingCommands(program, run)
  addActingCommands(program, run)
  addRunningCommands(program, run)
  return program
}
