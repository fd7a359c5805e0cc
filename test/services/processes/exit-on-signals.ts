import { constants } from 'node:os'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
let handled = false

/**
 * Makes a signal end this process as `process.exit` does, so that what is to be done at exit is done:
 * by default it would end on the spot. Where somebody else handles a signal, that is left to them.
 */
export function exitOnSignals(): void {
  if (handled) return
  handled = true
  for (const signal of signals) process.on(signal, exitUnlessHandled)
}

function exitUnlessHandled(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) === 1) process.exit(128 + constants.signals[signal])
}
