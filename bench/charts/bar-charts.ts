import { escaped, numberText, palette } from './chart-text.ts'

export interface BarPanel {
  /** The metric of the panel, and its unit. */
  readonly title: string
  readonly bars: readonly Bar[]
}

export interface Bar {
  readonly name: string
  readonly value: number
  readonly kind: 'sendoff' | 'limit' | 'peer'
}

const width = 760
const left = 190
const right = 90
const top = 58
const barHeight = 18
const barGap = 7
const panelGap = 44

/** Draws bars, one panel for each metric, one below the other, for light and dark pages. */
export function barCharts(title: string, panels: readonly BarPanel[]): string {
  let y = top
  const drawn = panels.map((panel) => {
    const svg = panelSvg(panel, y)
    y += panel.bars.length * (barHeight + barGap) + panelGap
    return svg
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y - 16}" width="${width}" height="${y - 16}" role="img" aria-label="${escaped(title)}">
<style>
  ${palette}
  .sendoff { fill: #0969da } .limit { fill: #afb8c1 } .peer { fill: #bc4c00 }
  @media (prefers-color-scheme: dark) {
    .sendoff { fill: #4493f8 } .limit { fill: #656c76 } .peer { fill: #f0883e }
  }
</style>
<text class="title" x="16" y="22">${escaped(title)}</text>
${drawn.join('\n')}
</svg>
`
}

function panelSvg({ title, bars }: BarPanel, y: number): string {
  const highest = Math.max(...bars.map(({ value }) => value), Number.MIN_VALUE)
  const drawn = bars.flatMap(({ name, value, kind }, index) => {
    const barY = y + index * (barHeight + barGap)
    const length = ((width - left - right) * value) / highest
    return [
      `<text x="${left - 8}" y="${barY + 13}" text-anchor="end">${escaped(name)}</text>`,
      `<rect class="${kind}" x="${left}" y="${barY}" width="${Math.max(1, length).toFixed(1)}" height="${barHeight}" rx="2"/>`,
      `<text x="${(left + length + 6).toFixed(1)}" y="${barY + 13}">${numberText(value)}</text>`,
    ]
  })
  return [`<text class="panel" x="16" y="${y - 10}">${escaped(title)}</text>`, ...drawn].join('\n')
}
