import { readFileSync } from 'node:fs'
import { CommanderError } from 'commander'
import { CommandError } from './command-error.ts'
import type { Command } from './commands/command-call.ts'
import type { CommonOptions } from './commands/command-options.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { HiddenSecrets } from './hidden-secrets.ts'
import { makeProgram } from './program/program.ts'
import type { RunCommand } from './program/run-command.ts'
import { Terminal } from './terminal/terminal.ts'

/** Runs the command line with these arguments, without those of Node. Returns the exit code. */
export async function main(args: readonly string[]): Promise<ExitCode> {
  const secrets = new HiddenSecrets()
  showNoExperimentalWarnings()
  // A reader that goes away, as `head` does, is no failure.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
    })
  }
  let exitCode: ExitCode = exitCodes.done
  let isJson = args.includes('--json')

  const run: RunCommand = async (load, given, positional) => {
    const options = given as CommonOptions
    isJson = options.json === true
    if (options.url !== undefined) secrets.addUrl(options.url)
    const terminal = new Terminal(process, { json: isJson, color: options.color })
    const command = (await load()) as Command<CommonOptions>
    exitCode = await command({
      options,
      arguments: positional,
      terminal,
      secrets,
      env: process.env,
      folder: process.cwd(),
      signals: process,
    })
  }

  try {
    const printError = (text: string) => printFailure({ code: null, message: secrets.hide(text) }, isJson)
    await makeProgram({ version: ownVersion(), run, printError }).parseAsync(args, { from: 'user' })
    return exitCode
  } catch (error) {
    return reported(error, secrets, isJson)
  }
}

/** Prints an error, and returns the exit code that it stands for. */
function reported(error: unknown, secrets: HiddenSecrets, isJson: boolean): ExitCode {
  // The parser has printed its own errors and helps.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
  const { code } = error as { readonly code?: unknown }
  const message = secrets.hide(error instanceof Error ? error.message : String(error))
  printFailure({ code: typeof code === 'string' ? code : null, message }, isJson)
  return error instanceof CommandError ? error.exitCode : exitCodeOf(code)
}

function printFailure(
  error: { readonly code: string | null; readonly message: string },
  isJson: boolean,
): void {
  const { code, message } = error
  const shown = isJson ? JSON.stringify({ error }) : `sendoff: ${message}${code === null ? '' : ` (${code})`}`
  process.stderr.write(`${shown}\n`)
}

function exitCodeOf(code: unknown): ExitCode {
  switch (code) {
    case 'OUTBOX_DRIVER_MISSING':
    case 'OUTBOX_STORE_BUSY':
    case 'OUTBOX_STORE_FAILED':
    case 'OUTBOX_STORE_SILENT':
      return exitCodes.unreachable
    case 'OUTBOX_INVALID_CURSOR':
    case 'OUTBOX_INVALID_OPTION':
    case 'OUTBOX_INVALID_PLAN':
    case 'OUTBOX_INVALID_TABLE_NAME':
    case 'OUTBOX_UNKNOWN_OPTION':
      return exitCodes.usage
    default:
      return exitCodes.failed
  }
}

// `node:sqlite` and the types of a configuration work on every supported Node. Only their names may change.
function showNoExperimentalWarnings(): void {
  process.removeAllListeners('warning')
  process.on('warning', ({ name, message }) => {
    if (name !== 'ExperimentalWarning') process.stderr.write(`sendoff: ${name}: ${message}\n`)
  })
}

function ownVersion(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { readonly version: string }).version
}
