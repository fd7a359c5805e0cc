import type { BackOff } from '../store-calls/store-recovery.ts'

/** The pauses between attempts to write. Once stopped, no attempt follows. */
export class WritePauses {
  /** Functions that each end one pause. */
  readonly #ends = new Set<() => void>()
  #isStopped = false

  get isStopped(): boolean {
    return this.#isStopped
  }

  /** Resolves when the back-off allows another attempt, or all attempts stop. */
  pause(backOff: BackOff): Promise<void> {
    return new Promise<void>((resolve) => {
      const end = () => {
        cancel()
        this.#ends.delete(end)
        resolve()
      }
      const cancel = backOff.schedule(backOff.pauseMs, end, 'keepAlive')
      this.#ends.add(end)
    })
  }

  stop(): void {
    this.#isStopped = true
    this.#ends.forEach((end) => end())
  }
}
