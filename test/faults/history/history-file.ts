import { closeSync, existsSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { HistoryRecord } from './history-record.ts'
import type { ProcessHistory, Unstamped } from './process-history.ts'

/** Records what happens in one process, in a file of its own. The records survive the end of the process. */
export class HistoryFile implements ProcessHistory {
  readonly process: string
  readonly #file: number

  constructor(folder: string, process: string) {
    this.process = process
    this.#file = openSync(join(folder, `${process}.jsonl`), 'a')
  }

  now(): number {
    return monotonicMs()
  }

  say(record: Unstamped<HistoryRecord>): void {
    writeSync(this.#file, `${JSON.stringify({ at: monotonicMs(), process: this.process, ...record })}\n`)
  }

  close(): void {
    closeSync(this.#file)
  }
}

/** Returns milliseconds of a clock that all processes of the machine share. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000
}

/** Returns all records of a folder, in the order of time. */
export function readHistory(folder: string): readonly HistoryRecord[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readHistoryFile(join(folder, name)))
    .sort((a, b) => a.at - b.at)
}

/** Returns the records of one process so far. */
function readHistoryFile(path: string): readonly HistoryRecord[] {
  return linesOf(path).map((line) => JSON.parse(line) as HistoryRecord)
}

/** Returns the last record of a process so far. */
export function lastSaid(folder: string, process: string): HistoryRecord | undefined {
  const path = join(folder, `${process}.jsonl`)
  const last = existsSync(path) ? linesOf(path).at(-1) : undefined
  return last === undefined ? undefined : (JSON.parse(last) as HistoryRecord)
}

/** Returns how many transactions the processes of a slot have brought to their commit or rollback so far. */
export function countIntents(folder: string, slot: string): number {
  return readdirSync(folder)
    .filter((name) => name.startsWith(`${slot}.`) && name.endsWith('.jsonl'))
    .flatMap((name) => linesOf(join(folder, name)))
    .filter((line) => line.includes('"kind":"intent"')).length
}

/** Leaves out a line that was cut off with its process. */
function linesOf(path: string): readonly string[] {
  return readFileSync(path, 'utf8').split('\n').slice(0, -1)
}
