import type { HistoryRecord } from './history-record.ts'

/** A record without what the history adds: the time, unless it is given, and the process. */
export type Unstamped<Entry> = Entry extends unknown
  ? Omit<Entry, 'at' | 'process'> & { readonly at?: number }
  : never

/** The records of one process, and the clock by which all records of a run are stamped. */
export interface ProcessHistory {
  readonly process: string
  /** Milliseconds of the clock that all processes of the run share. */
  now(): number
  say(record: Unstamped<HistoryRecord>): void
}
