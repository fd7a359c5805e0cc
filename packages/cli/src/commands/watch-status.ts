import { setTimeout as wait } from 'node:timers/promises'
import { cutLine } from '../terminal/fitted-text.ts'
import { printable } from '../terminal/printable.ts'
import { countText, durationText, timeText } from '../terminal/shown-values.ts'
import { sparkline } from '../terminal/sparkline.ts'
import type { Terminal } from '../terminal/terminal.ts'
import type { CommandCall } from './command-call.ts'
import {
  barCount,
  destinationsText,
  headBlocks,
  minutesText,
  ratesText,
  type Status,
  statusJson,
  type StatusLook,
} from './shown-status.ts'
import { stopSignal } from './stop-signal.ts'

/** How many states the lines show at most. */
const maxSamples = 60

/** One state of an outbox, as far as the lines need it. */
export interface Sample {
  readonly pending: number
  readonly dead: number
  readonly lagMs: number
}

/** Draws the state anew at each interval, until Ctrl-C. For machines, it prints one line each time. */
export async function watchStatus(
  call: CommandCall<unknown>,
  read: () => Promise<Status>,
  intervalMs: number,
): Promise<void> {
  const { terminal, secrets } = call
  const stop = stopSignal(call.signals, terminal.closed)
  const samples: Sample[] = []
  let last: Status | undefined
  if (!terminal.isJson) terminal.write(enterScreen)
  try {
    while (!stop.signal.aborted) {
      let problem: string | undefined
      try {
        last = await read()
        samples.push(sampleOf(last))
        if (samples.length > maxSamples) samples.shift()
      } catch (error) {
        // The first read shows a wrong address. Later, a database may be away for a while.
        if (last === undefined) throw error
        problem = secrets.hide(error instanceof Error ? error.message : String(error))
      }
      if (terminal.isJson)
        terminal.printJson(problem === undefined ? statusJson(last) : { error: problem }, true)
      else draw(terminal, last, samples, problem, intervalMs)
      await wait(intervalMs, undefined, { signal: stop.signal }).catch(() => {})
    }
  } finally {
    if (!terminal.isJson) terminal.write(leaveScreen)
    stop.release()
  }
}

function sampleOf({ overview: { counts, oldestDue } }: Status): Sample {
  return { pending: counts.PENDING.count, dead: counts.DEAD.count, lagMs: oldestDue?.ageMs ?? 0 }
}

// The other screen keeps what the operator had on the first one. The cursor is hidden meanwhile.
const enterScreen = '\u001b[?1049h\u001b[?25l'
const leaveScreen = '\u001b[?25h\u001b[?1049l'

function draw(
  terminal: Terminal,
  state: Status,
  samples: readonly Sample[],
  problem: string | undefined,
  intervalMs: number,
): void {
  const { paint, width = 80, height = 24 } = terminal
  const lines = watchedLines(state, samples, { paint, width, height: height - 2 })
  const trouble = problem === undefined ? [] : [paint('red', printable(problem)), '']
  const foot = paint(
    'dim',
    `every ${durationText(intervalMs)} · ${timeText(state.overview.at)} · Ctrl-C ends`,
  )
  const shown = [...[...trouble, ...lines].slice(0, height - 2), '', foot].slice(-height)
  // Each line is cleared behind its text, and the screen below: so nothing flickers. A line that is wider
  // than the screen would take two of its rows, and push the first ones out.
  terminal.write(`\u001b[H${shown.map((line) => `${cutLine(line, width)}\u001b[K`).join('\r\n')}\u001b[J`)
}

/**
 * The state and its bars, within a height. What changes least, the rates of types, gets the room that is
 * left.
 */
export function watchedLines(
  state: Status,
  samples: readonly Sample[],
  { paint, width, height }: StatusLook & { readonly width: number; readonly height: number },
): readonly string[] {
  const look = { paint, width }
  const parts = [
    ...headBlocks(state, look),
    destinationsText(state, look),
    minutesText(state, look),
    depthsText(samples, look),
  ].filter((part) => part !== '')
  const airy = parts.join('\n\n').split('\n')
  const fixed = airy.length <= height ? airy : parts.join('\n').split('\n')
  for (let count = state.overview.rates.length; count > 0; count--) {
    const rates = ratesText(state, look, count).split('\n')
    if (fixed.length + 1 + rates.length <= height) return [...fixed, '', ...rates]
  }
  return fixed
}

function depthsText(samples: readonly Sample[], { paint, width }: StatusLook): string {
  const count = barCount(width)
  const now = samples.at(-1)!
  const line = (name: string, value: string, values: readonly number[]) =>
    `${paint('dim', name.padEnd(11))} ${sparkline(values.slice(-count)).padStart(count)}  ${value}`
  return [
    line(
      'pending',
      countText(now.pending),
      samples.map(({ pending }) => pending),
    ),
    line(
      'lag',
      durationText(now.lagMs),
      samples.map(({ lagMs }) => lagMs),
    ),
    line(
      'dead',
      countText(now.dead),
      samples.map(({ dead }) => dead),
    ),
  ].join('\n')
}
