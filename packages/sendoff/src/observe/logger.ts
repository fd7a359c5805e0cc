import { guarded } from './guarded.ts'

/**
 * Gets the reports of the engine. `console`, pino, winston and most other loggers have this shape. A message
 * says everything; the fields repeat its parts for machines.
 */
export interface Logger {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
}

/** The parts of a message. None of them holds a payload. */
export interface LogFields {
  readonly eventId?: string
  readonly eventType?: string
  readonly destination?: string
  readonly tenantId?: string
  readonly attempt?: number
  /** The text of the error. */
  readonly reason?: string
  /** How many reports this one stands for. */
  readonly count?: number
  readonly lastedMs?: number
}

/** Returns the logger that an option asks for. Its methods never throw. */
export function loggerFrom(option: Logger | false | undefined): Logger {
  if (option === undefined) return standardLogger
  if (option === false) return silentLogger
  return guarded(shaped(option), ['debug', 'info', 'warn', 'error'], () => {})
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

// A person reads the console, and the message says everything. Pino takes the fields first.
function shaped(logger: Logger): Logger {
  if (logger === globalThis.console) return withCalls((level, message) => logger[level](message))
  if (!isPino(logger)) return logger
  const pino = logger as object as Record<Level, (fields: object, message: string) => void>
  return withCalls((level, message, fields) => pino[level](fields ?? {}, message))
}

type Level = keyof Logger

function withCalls(call: (level: Level, message: string, fields?: LogFields) => void): Logger {
  return {
    debug: (message, fields) => call('debug', message, fields),
    info: (message, fields) => call('info', message, fields),
    warn: (message, fields) => call('warn', message, fields),
    error: (message, fields) => call('error', message, fields),
  }
}

function isPino(logger: object): boolean {
  return 'bindings' in logger && typeof logger.bindings === 'function' && 'levels' in logger
}
