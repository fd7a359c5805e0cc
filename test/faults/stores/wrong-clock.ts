import { globSync } from 'node:fs'
import { installDebianPackages } from '../../services/machine/debian-packages.ts'

/** The error of a process's clock. */
export type ClockError = '+1h' | '-1h'

/**
 * Installs libfaketime if it is missing and may be installed. Returns the reason if it is not there in the
 * end.
 */
export async function wrongClocksMissing(): Promise<string | undefined> {
  if (library() !== undefined) return undefined
  if (process.getuid?.() !== 0) return 'libfaketime is not on this machine, and only root can install it'
  try {
    await installDebianPackages('libfaketime')
    return library() === undefined ? 'libfaketime was installed, but still not found' : undefined
  } catch (error) {
    return `libfaketime could not be installed: ${String(error)}`
  }
}

/**
 * Returns the variables that give a process a wrong clock. Its timers stay right: they have a clock of their
 * own.
 */
export function wrongClock(error: ClockError): NodeJS.ProcessEnv {
  return {
    LD_PRELOAD: library()!,
    FAKETIME: error,
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  }
}

function library(): string | undefined {
  return globSync('/usr/lib/*/faketime/libfaketime.so.1')[0]
}
