import { guarded } from './guarded.ts'

/** Where the engine reports to. `console`, pino and most others have this shape. */
export interface Logger {
  debug(message: string): void
  info(message: string): void
  warn(message: string): void
  error(message: string): void
}

/** The logger that an option asks for, unable to throw. */
export function loggerFrom(option: Logger | false | undefined): Logger {
  if (option === undefined) return standardLogger
  return option === false ? silentLogger : guarded(option, ['debug', 'info', 'warn', 'error'], () => {})
}

export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
}

/** Warnings and errors on standard error: a fault nobody asked about must not go unseen. */
export const standardLogger: Logger = {
  debug() {},
  info() {},
  warn: (message) => void process.stderr.write(`sendoff warning: ${message}\n`),
  error: (message) => void process.stderr.write(`sendoff error: ${message}\n`),
}
