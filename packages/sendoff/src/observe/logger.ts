import { guarded } from './guarded.ts'

/** Gets the reports of the engine. `console`, pino and most other loggers have this shape. */
export interface Logger {
  debug(message: string): void
  info(message: string): void
  warn(message: string): void
  error(message: string): void
}

/** Returns the logger that an option asks for. Its methods never throw. */
export function loggerFrom(option: Logger | false | undefined): Logger {
  if (option === undefined) return standardLogger
  return option === false ? silentLogger : guarded(option, ['debug', 'info', 'warn', 'error'], () => {})
}

/** A logger that drops all reports. */
export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
}

/** Writes warnings and errors to standard error, so that faults are seen without any setup. */
export const standardLogger: Logger = {
  debug() {},
  info() {},
  warn: (message) => void process.stderr.write(`sendoff warning: ${message}\n`),
  error: (message) => void process.stderr.write(`sendoff error: ${message}\n`),
}
