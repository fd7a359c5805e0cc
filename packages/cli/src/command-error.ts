import { type ExitCode, exitCodes } from './exit-codes.ts'

/** Ends a command with a text for the operator and an exit code. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly exitCode: ExitCode

  constructor(message: string, exitCode: ExitCode = exitCodes.failed) {
    super(message)
    this.exitCode = exitCode
  }
}

/** Returns the error of a command that was called in a wrong way. */
export function usageError(message: string): CommandError {
  return new CommandError(message, exitCodes.usage)
}
