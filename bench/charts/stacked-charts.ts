import type { Series } from '../store-bench.ts'
import { escaped, numberText, palette } from './chart-text.ts'

export interface Panel {
  /** The metric of the panel, and its unit. */
  readonly title: string
  readonly lines: readonly Line[]
}

export interface Line {
  readonly name: string
  /** One value for each second, from the first on. */
  readonly values: readonly number[]
}

/** Returns a panel for each metric, with a line for each subject that has it. */
export function panelsOf(drawn: ReadonlyMap<string, readonly Series[]>): readonly Panel[] {
  const metrics = new Set([...drawn.values()].flat().map(({ metric }) => metric))
  return [...metrics].map((title) => ({
    title,
    lines: [...drawn].flatMap(([name, series]) => {
      const values = series.find(({ metric }) => metric === title)?.values
      return values === undefined ? [] : [{ name, values }]
    }),
  }))
}

const width = 760
const panelHeight = 150
const left = 64
const right = 16
const top = 60
const gap = 56
const plotWidth = width - left - right

/** Draws line charts over the same seconds, one below the other, for light and dark pages. */
export function stackedCharts(title: string, panels: readonly Panel[]): string {
  const height = top + panels.length * (panelHeight + gap) + 8
  const seconds = Math.max(...panels.flatMap(({ lines }) => lines.map(({ values }) => values.length)))
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">
<style>
  ${palette}
  .grid { stroke: #d1d9e0; stroke-width: 1 }
  .line { fill: none; stroke-width: 1.75; stroke-linejoin: round }
  ${coloursOf(['#0969da', '#bc4c00', '#1a7f37', '#8250df', '#bf3989', '#57606a', '#9a6700', '#0a7ea4'])}
  @media (prefers-color-scheme: dark) {
    .grid { stroke: #3d444d }
    ${coloursOf(['#4493f8', '#f0883e', '#3fb950', '#ab7df8', '#db61a2', '#9198a1', '#d29922', '#39c5cf'])}
  }
</style>
<text class="title" x="${left}" y="22">${escaped(title)}</text>
${panels.map((panel, index) => panelSvg(panel, top + index * (panelHeight + gap), seconds)).join('\n')}
</svg>
`
}

function coloursOf(colours: readonly string[]): string {
  return colours
    .map((colour, index) => `.line-${index} { stroke: ${colour} } .name-${index} { fill: ${colour} }`)
    .join(' ')
}

function panelSvg({ title, lines }: Panel, y: number, seconds: number): string {
  const highest = niceCeiling(Math.max(...lines.flatMap(({ values }) => values), 0))
  const xOf = (second: number) => left + (plotWidth * second) / Math.max(1, seconds)
  const yOf = (value: number) => y + panelHeight - (panelHeight * value) / highest

  const levels = [0, 0.25, 0.5, 0.75, 1].map((share) => share * highest)
  const grid = levels.flatMap((level) => [
    `<line class="grid" x1="${left}" x2="${width - right}" y1="${yOf(level)}" y2="${yOf(level)}"/>`,
    `<text x="${left - 8}" y="${yOf(level) + 4}" text-anchor="end">${numberText(level)}</text>`,
  ])
  const ticks = secondTicks(seconds).map(
    (second) =>
      `<text x="${xOf(second)}" y="${y + panelHeight + 17}" text-anchor="middle">${second} s</text>`,
  )
  const names = lines.map(
    ({ name }, index) =>
      `<text class="name-${index}" x="${width - right - (lines.length - 1 - index) * 110}" y="${y - 9}" text-anchor="end">${escaped(name)}</text>`,
  )
  const paths = lines.map(({ values }, index) => {
    const points = values.map((value, second) => `${xOf(second + 1).toFixed(1)},${yOf(value).toFixed(1)}`)
    return `<polyline class="line line-${index}" points="${points.join(' ')}"/>`
  })
  const panelTitle = `<text class="panel" x="${left}" y="${y - 9}">${escaped(title)}</text>`
  return [panelTitle, ...(lines.length > 1 ? names : []), ...grid, ...ticks, ...paths].join('\n')
}

/**
 * Returns the next of 1, 2, 4, 5, 8 and 10, times a power of ten: four equal steps below it are round, too.
 */
function niceCeiling(value: number): number {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 4, 5, 8, 10].map((step) => step * power).find((step) => step >= value)!
}

function secondTicks(seconds: number): readonly number[] {
  const step = Math.max(1, Math.ceil(seconds / 6))
  return Array.from({ length: Math.floor(seconds / step) + 1 }, (_, index) => index * step)
}
