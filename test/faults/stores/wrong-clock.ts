import { globSync } from 'node:fs'
import { installDebianPackages } from '../../services/machine/debian-packages.ts'

/** By how much the clock of a process is wrong. */
export type ClockError = '+1h' | '-1h'

/** Puts libfaketime on this machine where it is missing and may be installed. Answers why not, if it is not. */
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

/** The variables that give a process a wrong clock. Its timers go on as before: they have a clock of their own. */
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
