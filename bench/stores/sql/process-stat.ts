import { readFileSync } from 'node:fs'

export interface ProcessStat {
  readonly name: string
  readonly parent: number
  /** Microseconds of CPU so far, of all its threads. */
  readonly ownUs: number
  /** Microseconds of CPU of its children that have ended. */
  readonly endedChildrenUs: number
}

// Linux counts in hundredths of a second for programs, whatever it uses internally.
const usPerTick = 10_000

/** Returns what Linux knows of a process; undefined if it has ended, or is on another machine. */
export function processStat(pid: number): ProcessStat | undefined {
  const [, name, rest] = /\((.*)\) (.*)/.exec(statText(pid)) ?? []
  if (name === undefined || rest === undefined) return undefined

  const fields = rest.split(' ').map(Number)
  return {
    name,
    parent: fields[1]!,
    ownUs: (fields[11]! + fields[12]!) * usPerTick,
    endedChildrenUs: (fields[13]! + fields[14]!) * usPerTick,
  }
}

function statText(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return ''
  }
}
