import type { WriteStream } from 'node:tty'
import { styleText } from 'node:util'
import type { ProcessState } from './demo-process.ts'
import type { PipelineFigures } from './pipeline.ts'

export interface Scene {
  readonly figures: PipelineFigures
  readonly rolledBack: number
  readonly processes: readonly { readonly name: string; readonly state: ProcessState }[]
}

/** Shows the demo's state on a terminal. */
export interface TerminalPicture {
  /** Shows something that happened just now. */
  moment(text: string): void
  show(scene: Scene): void
  /** Leaves the last picture on the screen and restores the terminal. */
  end(): void
}

/**
 * Returns a picture that redraws itself in place if `output` is a terminal that supports it. Otherwise it
 * prints occasional lines.
 */
export function terminalPicture(output: WriteStream): TerminalPicture {
  // A terminal that does not know its size says 0.
  const hasRoom = (output.columns || 80) >= 80 && (output.rows || 24) >= 24
  return output.isTTY && process.env['TERM'] !== 'dumb' && hasRoom ? livePicture(output) : plainLines(output)
}

const shownMoments = 8

function livePicture(output: WriteStream): TerminalPicture {
  const clock = stopwatch()
  const speed = speedometer()
  const moments: string[] = []
  let drawnLines = 0
  output.write(hideCursor)

  return {
    moment(text) {
      // A line that wraps would take two rows, and the next picture would start at the wrong one.
      const room = (output.columns || 80) - 11
      moments.push(`  ${styleText('dim', clock.text())}  ${text.slice(0, room)}`)
    },
    show(scene) {
      const lines = [...drawScene(scene, speed(clock.ms(), scene.figures)), ...moments.slice(-shownMoments)]
      output.write(upwards(drawnLines) + lines.map((line) => `${line}${clearToEndOfLine}\n`).join(''))
      drawnLines = lines.length
    },
    end() {
      output.write(showCursor)
    },
  }
}

const plainEveryMs = 2_500

function plainLines(output: WriteStream): TerminalPicture {
  const clock = stopwatch()
  const speed = speedometer()
  let nextAt = plainEveryMs

  return {
    moment(text) {
      output.write(`${clock.text()}  ${text}\n`)
    },
    show({ figures }) {
      const perSecond = speed(clock.ms(), figures)
      if (clock.ms() < nextAt) return

      nextAt += plainEveryMs
      const { written, waiting, inFlight, delivered } = figures
      output.write(
        `${clock.text()}  written ${written}, waiting ${waiting}, in flight ${inFlight}, delivered ${delivered}` +
          ` (${perSecond.written} written/s, ${perSecond.delivered} delivered/s)\n`,
      )
    },
    end() {},
  }
}

function drawScene({ figures, rolledBack, processes }: Scene, perSecond: Speed): string[] {
  const { written, waiting, inFlight, delivered } = figures
  const many = roundUp(Math.max(written, delivered), 1_000)
  const few = roundUp(Math.max(waiting, inFlight), 200)

  return [
    ...processes.map(({ name, state }) => `  ${name.padEnd(14)} ${stateSign[state]()}`),
    '',
    counter('written', written, many, 'blue') + styleText('dim', `  ${rolledBack} rolled back`),
    counter('waiting', waiting, few, 'yellow'),
    counter('in flight', inFlight, few, 'magenta'),
    counter('delivered', delivered, many, 'green'),
    '',
    `  ${perSecond.written} written/s, ${perSecond.delivered} delivered/s`,
    '',
  ]
}

const stateSign: Record<ProcessState, () => string> = {
  starting: () => styleText('yellow', '○ starting'),
  up: () => styleText('green', '● up'),
  stopping: () => styleText('yellow', '○ finishing what it has begun'),
  stopped: () => styleText('dim', '○ stopped'),
  killed: () => styleText('red', '✗ killed'),
}

const barWidth = 36

function counter(
  name: string,
  value: number,
  scale: number,
  color: 'blue' | 'yellow' | 'magenta' | 'green',
): string {
  const full = Math.min(barWidth, Math.ceil((value / scale) * barWidth))
  const bar = styleText(color, '█'.repeat(full)) + styleText('dim', '░'.repeat(barWidth - full))
  return `  ${name.padEnd(9)} ${String(value).padStart(5)}  ${bar} ${styleText('dim', String(scale).padEnd(5))}`
}

function roundUp(value: number, step: number): number {
  return Math.max(1, Math.ceil(value / step)) * step
}

interface Speed {
  readonly written: number
  readonly delivered: number
}

/** Measures events per second over about the last second. */
function speedometer(): (ms: number, figures: PipelineFigures) => Speed {
  const samples: { readonly ms: number; readonly figures: PipelineFigures }[] = []

  return (ms, figures) => {
    samples.push({ ms, figures })
    while (samples.length > 2 && ms - samples[1]!.ms > 1_000) samples.shift()

    const first = samples[0]!
    const perSecond = (count: number) => (ms > first.ms ? Math.round((count * 1_000) / (ms - first.ms)) : 0)
    return {
      written: perSecond(figures.written - first.figures.written),
      delivered: perSecond(figures.delivered - first.figures.delivered),
    }
  }
}

function stopwatch() {
  const startedAt = performance.now()
  const ms = () => performance.now() - startedAt
  return { ms, text: () => `${(ms() / 1_000).toFixed(1).padStart(4)} s` }
}

const hideCursor = '\x1b[?25l'
const showCursor = '\x1b[?25h'
const clearToEndOfLine = '\x1b[K'

function upwards(lines: number): string {
  return lines === 0 ? '' : `\x1b[${lines}A`
}
