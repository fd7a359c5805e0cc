import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

/** One line of a chart. */
export interface ChartLine {
  readonly label: string
  /** The name of a colour of the style sheet. */
  readonly colour: string
  readonly values: readonly (number | null)[]
  readonly isFilled?: boolean
}

/** A chart over time. */
export function Chart({
  label,
  times,
  lines,
  format,
  tick = format,
  max,
  least = 4,
}: {
  label: string
  /** Epoch seconds. */
  times: readonly number[]
  lines: readonly ChartLine[]
  format: (value: number) => string
  /** Writes a value beside the axis, where there is little room. */
  tick?: (value: number) => string
  max?: number
  /** The least value that its axis ends at. */
  least?: number
}): JSX.Element {
  const place = useRef<HTMLDivElement>(null)
  const chart = useRef<UPlot | undefined>(undefined)
  // The place of the pointer; undefined while it is elsewhere.
  const [pointed, setPointed] = useState<number>()
  const shown = useRef({ times, lines })
  shown.current = { times, lines }
  const shape = lines.map((line) => line.label).join()

  useEffect(() => {
    const element = place.current!
    const follow = ({ cursor }: UPlot): void => setPointed(cursor.idx ?? undefined)
    const make = (): void => {
      chart.current?.destroy()
      const now = shown.current
      const options = { ...optionsOf(element, now.lines, tick, max, least), hooks: { setCursor: [follow] } }
      chart.current = new UPlot(options, dataOf(now.times, now.lines), element)
    }
    make()
    const resized = new ResizeObserver(() =>
      chart.current?.setSize({ width: element.clientWidth, height: height }),
    )
    resized.observe(element)
    // The canvas does not see the style sheet, so a new theme needs a new chart.
    const themed = new MutationObserver(make)
    themed.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', make)
    return () => {
      resized.disconnect()
      themed.disconnect()
      scheme.removeEventListener('change', make)
      chart.current?.destroy()
      chart.current = undefined
    }
  }, [shape])

  useEffect(() => chart.current?.setData(dataOf(times, lines)), [times, lines])

  const valueOf = ({ values }: ChartLine, index: number | undefined): string => {
    const value = index === undefined ? values.findLast((each) => each !== null) : values[index]
    return value === undefined || value === null ? '–' : format(value)
  }
  const newest = lines.map((line) => `${line.label} ${valueOf(line, undefined)}`)
  const isEmpty = lines.every(({ values }) => values.every((value) => value === null))
  const pointedAt = pointed === undefined ? undefined : times[pointed]
  return (
    <figure class="chart">
      <figcaption>
        <span class="row-between">
          <span class="strong clip">{label}</span>
          <span class="muted nowrap">{pointedAt === undefined ? '' : clockOf(pointedAt, true)}</span>
        </span>
        <span class="legend">
          {lines.map((line) => (
            <span key={line.label} class={`legend-${line.colour}`}>
              {line.label} <b>{valueOf(line, pointed)}</b>
            </span>
          ))}
        </span>
      </figcaption>
      <div ref={place} role="img" aria-label={`${label}, now: ${newest.join(', ')}`} />
      {isEmpty && <p class="chart-empty muted small">Nothing in the last hour</p>}
    </figure>
  )
}

const height = 150

/** The shortest time that a chart shows: below, its labels would repeat the same second. */
const shortestSeconds = 10

function dataOf(times: readonly number[], lines: readonly ChartLine[]): UPlot.AlignedData {
  return [[...times], ...lines.map(({ values }) => [...values])] as UPlot.AlignedData
}

function optionsOf(
  element: HTMLElement,
  lines: readonly ChartLine[],
  tick: (value: number) => string,
  max: number | undefined,
  least: number,
): UPlot.Options {
  const style = getComputedStyle(document.documentElement)
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim()
  const axis = {
    stroke: colour('muted'),
    font: '11px Inter, system-ui, sans-serif',
    ticks: { show: false },
  } as const
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { y: false, points: { size: 6 } },
    padding: [8, 20, 0, 0],
    scales: {
      x: { range: (_chart, first, last) => [Math.min(first, last - shortestSeconds), last] },
      y: { range: (_chart, _low, high) => [0, max ?? Math.max(least, high * 1.15)] },
    },
    axes: [
      { ...axis, grid: { show: false }, size: 24, space: 70, values: (_chart, ticks) => clocks(ticks) },
      {
        ...axis,
        grid: { stroke: colour('line'), width: 1 },
        size: 54,
        space: 34,
        values: (_chart, ticks) => ticks.map(tick),
      },
    ],
    series: [
      {},
      ...lines.map((line) => ({
        label: line.label,
        stroke: colour(line.colour),
        width: 1.75,
        spanGaps: true,
        points: { show: isSparse, size: 5 },
        ...(line.isFilled && { fill: `${colour(line.colour)}22` }),
      })),
    ],
  }
}

/** Whether there are too few values to make a line. */
function isSparse(chart: UPlot, index: number): boolean {
  const values = chart.data[index] as readonly (number | null)[]
  return values.filter((value) => value !== null).length < 3
}

/** Writes times of day. Seconds stand there only if the times are close together. */
function clocks(ticks: readonly number[]): string[] {
  const isClose = ticks.length > 1 && ticks[1]! - ticks[0]! < 60
  return ticks.map((tick) => clockOf(tick, isClose))
}

function clockOf(seconds: number, isExact: boolean): string {
  const second = isExact ? ({ second: '2-digit' } as const) : {}
  return new Date(seconds * 1_000).toLocaleTimeString('en-GB', {
    hour: '2-digit',
    minute: '2-digit',
    ...second,
  })
}
