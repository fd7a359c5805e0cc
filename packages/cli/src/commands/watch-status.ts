import { setTimeout as wait } from 'node:timers/promises'
import { printable } from '../terminal/printable.ts'
import { countText, cut, durationText, timeText } from '../terminal/shown-values.ts'
import { sparkline } from '../terminal/sparkline.ts'
import type { Terminal } from '../terminal/terminal.ts'
import type { CommandCall } from './command-call.ts'
import { type Status, statusJson, statusText } from './shown-status.ts'
import { stopSignal } from './stop-signal.ts'

/** How many states the lines show at most. */
const maxSamples = 60

/** One state of an outbox, as far as the lines need it. */
interface Sample {
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
  const now = samples.at(-1)!
  const graph = (name: string, value: string, values: readonly number[]) =>
    `${paint('dim', name.padEnd(11))} ${sparkline(values).padStart(maxSamples)}  ${value}`
  const foot = `every ${durationText(intervalMs)} · ${timeText(state.overview.at)} · Ctrl-C ends`
  const lines = [
    ...(problem === undefined ? [] : [paint('red', cut(printable(problem), width)), '']),
    ...statusText(state, terminal).split('\n'),
    '',
    graph(
      'pending',
      countText(now.pending),
      samples.map(({ pending }) => pending),
    ),
    graph(
      'lag',
      durationText(now.lagMs),
      samples.map(({ lagMs }) => lagMs),
    ),
    graph(
      'dead',
      countText(now.dead),
      samples.map(({ dead }) => dead),
    ),
  ]
  const shown = [...lines.slice(0, height - 2), '', paint('dim', cut(foot, width))].slice(-height)
  // Each line is cleared behind its text, and the screen below: so nothing flickers.
  terminal.write(`\u001b[H${shown.map((line) => `${line}\u001b[K`).join('\r\n')}\u001b[J`)
}
