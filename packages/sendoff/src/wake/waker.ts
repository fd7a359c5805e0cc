/** Wakes pollers: that of this process, and those of others. */
export interface Waker {
  /** Has this process poll now, or after some milliseconds; for these partitions only where it owns one of them. */
  wake(inMs?: number, partitions?: readonly number[]): void

  /** There is room again: the poller resumes where it stopped for lack of it. */
  resume(): void

  /** Tells other processes of something to deliver in these partitions, or anywhere: now, or after some milliseconds. */
  announce(partitions?: readonly number[], inMs?: number): void
}
