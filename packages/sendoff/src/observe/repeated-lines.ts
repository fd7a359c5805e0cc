import type { Cancel, Clock } from '../clock.ts'
import type { LogFields, Logger } from './logger.ts'

/** Within this many milliseconds, each kind gets a few lines of its own. One more line counts the rest. */
const windowMs = 10_000
const linesPerWindow = 5
/** How many kinds are counted separately. */
const mostGroups = 20

/** How bad what a line tells is. */
export type Level = 'warn' | 'error'

/** A line of the log and its fields. It is made only if it is written. */
export type Line = () => readonly [text: string, fields: LogFields]

const noLine: Line = () => ['', {}]

interface Group {
  readonly level: Level
  /** The kind, as in `attempts at "OrderPlaced" failed`. */
  readonly what: string
  lines: number
  untold: number
  last: Line
}

/**
 * Logs what may happen often: the first few lines of each kind, and the rest in one line that counts them. So
 * the log covers everything, and nothing floods it.
 */
export class RepeatedLines {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #others: string
  readonly #groups = new Map<string, Group>()
  #cancel: Cancel | undefined

  /** `others` is the kind of all lines beyond the kinds that are counted separately. */
  constructor(clock: Clock, logger: Logger, others: string) {
    this.#clock = clock
    this.#logger = logger
    this.#others = others
  }

  /** Logs `line`, or counts it with others of its kind. */
  tell(level: Level, what: string, line: Line): void {
    const group = this.#groupOf(level, what)
    if (group.lines < linesPerWindow) {
      group.lines++
      this.#logger[level](...line())
    } else {
      group.untold++
      group.last = line
    }
  }

  /** Logs what was only counted so far. */
  flush(): void {
    this.#cancel?.()
    this.#cancel = undefined
    for (const [what, group] of this.#groups) {
      if (group.untold === 0) this.#groups.delete(what)
      else this.#summarise(group)
    }
    if (this.#groups.size > 0) this.#schedule()
  }

  #groupOf(level: Level, what: string): Group {
    const known = this.#groups.get(what)
    if (known !== undefined) return known
    if (this.#groups.size >= mostGroups && what !== this.#others) return this.#groupOf(level, this.#others)
    const group: Group = { level, what, lines: 0, untold: 0, last: noLine }
    this.#groups.set(what, group)
    this.#schedule()
    return group
  }

  // A kind that continues gets one line in each further window.
  #summarise(group: Group): void {
    const { level, what, untold, last } = group
    const [line, fields] = last()
    this.#logger[level](`${untold} more ${what} within ${windowMs / 1_000} s. The last: ${line}`, {
      ...fields,
      count: untold,
    })
    group.lines = linesPerWindow
    group.untold = 0
    group.last = noLine
  }

  #schedule(): void {
    this.#cancel ??= this.#clock.schedule(windowMs, () => this.flush())
  }
}
