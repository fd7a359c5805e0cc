/** Wakes the poller of this process, and those of other processes. */
export interface Waker {
  /**
   * Makes this process poll now, or after `inMs` milliseconds. With `partitions`, only if it owns one of
   * them. With `stepMs`, one poll reads the events of a step of this length, at its end.
   */
  wake(inMs?: number, partitions?: readonly number[], stepMs?: number): void

  /** Makes the poller resume where it stopped for lack of room. Called when there is room again. */
  resume(): void

  /** Wakes other processes for rows of these partitions, or of any: now, or after `inMs` milliseconds. */
  announce(partitions?: readonly number[], inMs?: number): void
}
