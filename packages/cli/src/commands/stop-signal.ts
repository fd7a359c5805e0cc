import { exitCodes } from '../exit-codes.ts'
import type { CommandCall } from './command-call.ts'

/** Aborts when the operator or the system asks the process to end. */
export interface StopSignal {
  readonly signal: AbortSignal
  /** Leaves signals to Node again. */
  release(): void
}

/**
 * Listens for Ctrl-C, SIGTERM and SIGHUP. The second one ends the process at once, whatever it waits for.
 * Also aborts with `closed`.
 */
export function stopSignal(signals: CommandCall<unknown>['signals'], closed?: AbortSignal): StopSignal {
  const stop = new AbortController()
  const onSignal = () => {
    if (stop.signal.aborted) process.exit(exitCodes.interrupted)
    stop.abort()
  }
  const onClosed = () => stop.abort()
  for (const name of names) signals.on(name, onSignal)
  closed?.addEventListener('abort', onClosed)
  return {
    signal: stop.signal,
    release() {
      for (const name of names) signals.removeListener(name, onSignal)
      closed?.removeEventListener('abort', onClosed)
    },
  }
}

const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
