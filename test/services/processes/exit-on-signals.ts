import { constants } from 'node:os'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
let handled = false

/**
 * Makes a signal end this process as `process.exit` does, so that exit handlers run. By default a signal
 * would end it on the spot. A signal with another handler is left to that handler.
 */
export function exitOnSignals(): void {
  if (handled) return
  handled = true
  for (const signal of signals) process.on(signal, exitUnlessHandled)
}

function exitUnlessHandled(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) === 1) process.exit(128 + constants.signals[signal])
}
