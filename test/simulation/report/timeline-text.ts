import type { SimulationPlan } from '../plan/simulation-plan.ts'
import type { SimulationRun, TimelineEntry } from '../world/run-simulation.ts'

/** Calls that a reader of a timeline rarely wants to see, if they went well and found nothing. */
const dull =
  /^(join|ping|listen|unlisten|announce|renewLock|leave) of|^(shares|readLanes|readAll|pollPending|claim|acquireLock) of \S+: (\[\]|false|\{"rows":\[\]\}|\{"participants)/

/** Returns the history as lines of text: the time in ms, the process or the database, and what happened. */
export function timelineText(plan: SimulationPlan, run: SimulationRun, isWhole = false): string {
  const { mode, seed, strategy, processes, transactions, faults } = plan
  const events = transactions.reduce((sum, each) => sum + each.events.length, 0)
  const lines = run.timeline.filter((entry) => isWhole || !isDull(entry)).map(lineOf)
  return [
    `seed ${seed}, mode ${mode}, ${strategy} delays: ${processes.length} processes, ${events} events in ${transactions.length} transactions, ${faults.length} faults`,
    ...run.violations.map(({ rule, message }) => `BROKEN ${rule}: ${message}`),
    '',
    ...lines,
    '',
  ].join('\n')
}

/** Whether an entry is left out of a short timeline. */
export function isDull({ who, what }: TimelineEntry): boolean {
  return who === 'database' && dull.test(what)
}

function lineOf({ at, who, what }: TimelineEntry): string {
  return `${at.toFixed(2).padStart(12)}  ${who.padEnd(9)} ${what.slice(0, 300)}`
}
