import type { Clock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import { guarded } from './guarded.ts'
import type { Logger } from './logger.ts'
import { RepeatedLines } from './repeated-lines.ts'

/**
 * Calls the progress callbacks of users. One that throws or rejects is logged, and the work goes on. The log
 * gets the first few faults, and then one line that counts the rest.
 */
export class SafeProgress {
  readonly #lines: RepeatedLines

  constructor(clock: Clock, logger: Logger) {
    this.#lines = new RepeatedLines(clock, logger, 'failures of onProgress')
  }

  /** Returns the callback of these options in a form that never throws. It does nothing if there is none. */
  of<Progress>(
    what: string,
    options: { readonly onProgress?: ((progress: Progress) => unknown) | undefined },
  ): (progress: Progress) => void {
    if (options.onProgress === undefined) return () => {}
    const { onProgress } = guarded(options, ['onProgress'], (error) =>
      this.#lines.tell('error', 'failures of onProgress', () => [
        `The onProgress of ${what} failed, and the work goes on. ${describeError(error)}`,
        {},
      ]),
    )
    return onProgress!
  }

  /** Logs what was only counted so far. */
  flush(): void {
    this.#lines.flush()
  }
}
