import type { SimulationPlan } from '../plan/simulation-plan.ts'
import type { SimulationRun, TimelineEntry } from '../world/run-simulation.ts'
import { isDull } from './timeline-text.ts'

const columnWidth = 330
const rowHeight = 22
const left = 110
const top = 96

/** The most rows of a diagram: the last ones, which lead to the broken promise. */
const mostRows = 400

/**
 * Returns an SVG picture of a history: a line of life for the database and each process, and a row for each thing that
 * happened. Time runs downwards, and rows stand evenly, however long the time between them is.
 */
export function sequenceDiagram(plan: SimulationPlan, run: SimulationRun): string {
  const entries = run.timeline.filter((entry) => !isDull(entry)).slice(-mostRows)
  const actors = [...new Set(['database', ...entries.map(({ who }) => who)])]
  const width = left + actors.length * columnWidth
  const height = top + entries.length * rowHeight + 40
  const xOf = (who: string) => left + actors.indexOf(who) * columnWidth + 16
  const [first] = run.violations
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="ui-monospace, monospace" font-size="11">`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    `<text x="12" y="24" font-size="15" font-weight="bold">seed ${plan.seed} · ${plan.mode} · ${plan.strategy}</text>`,
    first === undefined
      ? `<text x="12" y="46" fill="#15803d">every promise was kept</text>`
      : `<text x="12" y="46" fill="#b91c1c">${escaped(first.rule)}: ${escaped(first.message.slice(0, 160))}</text>`,
    ...actors.map((who) => lifeLine(who, xOf(who), height)),
    ...entries.map((entry, index) => row(entry, xOf(entry.who), top + index * rowHeight)),
    '</svg>\n',
  ].join('\n')
}

function lifeLine(who: string, x: number, height: number): string {
  return `<text x="${x}" y="76" font-weight="bold">${escaped(who)}</text>
<line x1="${x}" y1="84" x2="${x}" y2="${height - 16}" stroke="#cbd5e1"/>`
}

function row({ at, who, what }: TimelineEntry, x: number, y: number): string {
  const colour = colourOf(who, what)
  return `<text x="12" y="${y}" fill="#64748b">${at.toFixed(1)}</text>
<circle cx="${x}" cy="${y - 4}" r="4" fill="${colour}"/>
<text x="${x + 10}" y="${y}" fill="${colour}"><title>${escaped(what)}</title>${escaped(what.slice(0, 46))}</text>`
}

function colourOf(who: string, what: string): string {
  if (who === 'driver' || /fault|crash/.test(what)) return '#b91c1c'
  if (/^(start|end) /.test(what)) return '#1d4ed8'
  if (/^(settled|settle of)/.test(what)) return '#15803d'
  return what.startsWith('log:') ? '#a16207' : '#334155'
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
