import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
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
  max,
}: {
  label: string
  /** Epoch seconds. */
  times: readonly number[]
  lines: readonly ChartLine[]
  format: (value: number) => string
  max?: number
}): JSX.Element {
  const place = useRef<HTMLDivElement>(null)
  const chart = useRef<UPlot | undefined>(undefined)
  const shape = lines.map((line) => line.label).join()

  useEffect(() => {
    const element = place.current!
    const make = (): void => {
      chart.current?.destroy()
      chart.current = new UPlot(optionsOf(element, lines, format, max), dataOf(times, lines), element)
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

  const newest = lines.map((line) => {
    const value = line.values.findLast((each) => each !== null)
    return `${line.label} ${value === undefined || value === null ? 'unknown' : format(value)}`
  })
  return (
    <figure class="chart">
      <figcaption>
        <span class="strong">{label}</span>
        <span class="legend">
          {lines.map((line) => (
            <span key={line.label} class={`legend-${line.colour}`}>
              {line.label}
            </span>
          ))}
        </span>
      </figcaption>
      <div ref={place} role="img" aria-label={`${label}, now: ${newest.join(', ')}`} />
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
  format: (value: number) => string,
  max: number | undefined,
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
      y: { range: (_chart, _low, high) => [0, max ?? Math.max(1, high * 1.15)] },
    },
    axes: [
      { ...axis, grid: { show: false }, size: 24, space: 70, values: (_chart, ticks) => clocks(ticks) },
      {
        ...axis,
        grid: { stroke: colour('line'), width: 1 },
        size: 54,
        space: 34,
        values: (_chart, ticks) => ticks.map(format),
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
  const second = isClose ? ({ second: '2-digit' } as const) : {}
  return ticks.map((tick) =>
    new Date(tick * 1_000).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', ...second }),
  )
}
