// `npm run simulate`: runs simulated histories, and shows what breaks a promise. `--help` lists the options.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { FaultMode } from '../faults/processes/node-setup.ts'
import { callFaultKinds, harmedCalls, planSimulation, usualSize } from './plan/plan-simulation.ts'
import type { SimulationPlan } from './plan/simulation-plan.ts'
import { sequenceDiagram } from './report/sequence-diagram.ts'
import { timelineText } from './report/timeline-text.ts'
import { searchInParallel } from './search/search-in-parallel.ts'
import { shrinkPlan, sizeOf } from './search/shrink-plan.ts'
import { type Finding, type SearchResult, simulatedModes } from './search/simulate-many.ts'
import { runSimulation } from './world/run-simulation.ts'

const help = `npm run simulate -- [options]

  --histories N   how many histories to run (default 500)
  --seed S        the first seed (default: a new one); with --mode and no --histories, replays that one history
  --mode M        ${simulatedModes.join(', ')} (default: all in turn)
  --events N --faults N --processes N   the size of a history (default ${usualSize.events}, ${usualSize.faults}, ${usualSize.processes})
  --workers N     threads (default: one for each core)
  --shrink        makes a failing history as small as possible
  --whole         keeps dull lines in the timeline
  --folder DIR    where to write timeline and picture of a failing history (default: simulation)
  --coverage      lists how often each pair of operation and fault came to pass
`

const { values } = parseArgs({
  options: {
    histories: { type: 'string' },
    seed: { type: 'string' },
    mode: { type: 'string' },
    events: { type: 'string' },
    faults: { type: 'string' },
    processes: { type: 'string' },
    workers: { type: 'string' },
    shrink: { type: 'boolean', default: false },
    whole: { type: 'boolean', default: false },
    folder: { type: 'string', default: 'simulation' },
    coverage: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

if (values.help) {
  console.log(help)
  process.exit(0)
}
const modes = modesOf(values.mode)
const seed = Number(values.seed ?? Date.now() % 2 ** 31)
const size = {
  events: Number(values.events ?? usualSize.events),
  faults: Number(values.faults ?? usualSize.faults),
  processes: Number(values.processes ?? usualSize.processes),
}
const isReplay = values.seed !== undefined && values.histories === undefined && modes.length === 1
process.exitCode = isReplay ? await replay(seed, modes[0]!) : await search()

async function search(): Promise<number> {
  const histories = Number(values.histories ?? 500)
  console.log(`${histories} histories from seed ${seed} on: ${modes.join(', ')}`)
  const startedAt = performance.now()
  const progress = progressLine(histories, startedAt)
  const result = await searchInParallel({
    search: { modes, from: seed, histories, size },
    ...(values.workers !== undefined && { workers: Number(values.workers) }),
    onProgress: progress,
  })
  if (process.stderr.isTTY) process.stderr.write('\n')
  console.log(summaryOf(result, performance.now() - startedAt))
  if (values.coverage) console.log(coverageTable(result))
  for (const { seed: each, mode, rule, message } of result.findings) {
    console.log(
      `BROKEN ${rule}: ${message}\n  npm run simulate -- --seed ${each} --mode ${mode}${sizeArguments()}`,
    )
  }
  const [first] = result.findings
  if (first !== undefined) await explain(first)
  return first === undefined ? 0 : 1
}

async function replay(each: number, mode: FaultMode): Promise<number> {
  const plan = planSimulation(each, mode, size)
  const { violations } = await runSimulation(plan)
  const [first] = violations
  if (first === undefined) {
    console.log(`Every promise was kept: seed ${each}, mode ${mode}.`)
    await write(plan)
    return 0
  }
  console.log(`BROKEN ${first.rule}: ${first.message}`)
  await explain({ seed: each, mode, ...first })
  return 1
}

/** Writes a failing history as text and as a picture, as small as it can be made. */
async function explain({ seed: each, mode, rule }: Omit<Finding, 'number'>): Promise<void> {
  let plan = planSimulation(each, mode, size)
  if (values.shrink) {
    const before = sizeOf(plan)
    const shrunk = await shrinkPlan(plan, rule, (smaller, tries) => {
      if (process.stderr.isTTY)
        process.stderr.write(`\rshrinking: ${before} -> ${sizeOf(smaller)} after ${tries} histories `)
    })
    plan = shrunk.plan
    console.log(`Shrunk from ${before} to ${sizeOf(plan)} parts, in ${shrunk.tries} histories.`)
  }
  await write(plan)
}

async function write(plan: SimulationPlan): Promise<void> {
  const run = await runSimulation(plan, { withTimeline: true })
  mkdirSync(values.folder, { recursive: true })
  const name = join(values.folder, `${plan.mode}-${plan.seed}`)
  writeFileSync(`${name}.txt`, timelineText(plan, run, values.whole))
  writeFileSync(`${name}.svg`, sequenceDiagram(plan, run))
  writeFileSync(`${name}.json`, JSON.stringify(plan, undefined, 2))
  console.log(`${name}.txt has the timeline, ${name}.svg the picture, ${name}.json the plan.`)
}

function progressLine(histories: number, startedAt: number): (done: number) => void {
  let toldAt = startedAt
  return (done) => {
    const now = performance.now()
    const perMinute = Math.round((done / (now - startedAt)) * 60_000)
    const line = `${done} of ${histories} histories, ${perMinute} a minute`
    if (process.stderr.isTTY) process.stderr.write(`\r${line} `)
    else if (now - toldAt > 30_000) {
      toldAt = now
      console.error(line)
    }
  }
}

function summaryOf(result: SearchResult, tookMs: number): string {
  const { histories, events, deliveries, calls, virtualMs, coverage, findings } = result
  const perMinute = Math.round((histories / tookMs) * 60_000)
  const hours = (virtualMs / 3_600_000).toFixed(1)
  const pairs = modes.flatMap((mode) =>
    harmedCalls(mode).flatMap((call) => callFaultKinds.map((kind) => `${mode} ${call}/${kind}`)),
  )
  const covered = pairs.filter((pair) => (coverage[pair] ?? 0) > 0).length
  return [
    `${histories} histories in ${(tookMs / 1000).toFixed(1)} s, ${perMinute} a minute: ${events} events, ${deliveries} deliveries, ${calls} calls, ${hours} hours of virtual time`,
    `${covered} of ${pairs.length} pairs of operation and fault came to pass`,
    `${findings.length} broken`,
  ].join('\n')
}

function coverageTable({ coverage }: SearchResult): string {
  return modes
    .map((mode) => {
      const rows = harmedCalls(mode).map((call) =>
        [
          call.padEnd(18),
          ...callFaultKinds.map((kind) => String(coverage[`${mode} ${call}/${kind}`] ?? 0).padStart(13)),
        ].join(''),
      )
      return [mode.padEnd(18) + callFaultKinds.map((kind) => kind.padStart(13)).join(''), ...rows].join('\n')
    })
    .join('\n\n')
}

function sizeArguments(): string {
  return (['events', 'faults', 'processes'] as const)
    .filter((name) => size[name] !== usualSize[name])
    .map((name) => ` --${name} ${size[name]}`)
    .join('')
}

function modesOf(mode: string | undefined): readonly FaultMode[] {
  if (mode === undefined) return simulatedModes
  const known = simulatedModes.find((each) => each === mode)
  if (known === undefined)
    throw new Error(`There is no mode "${mode}". The modes are ${simulatedModes.join(', ')}.`)
  return [known]
}
