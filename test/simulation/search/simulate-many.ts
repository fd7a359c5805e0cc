import type { FaultMode } from '../../faults/processes/node-setup.ts'
import { planSimulation, type PlanSize } from '../plan/plan-simulation.ts'
import type { SimulationPlan } from '../plan/simulation-plan.ts'
import { runSimulation, type SimulationRun } from '../world/run-simulation.ts'

/** All modes that deliver. */
export const simulatedModes: readonly FaultMode[] = [
  'multiNode',
  'singleNode',
  'singleWriter',
  'ordered',
  'partitioned',
]

/** Which histories to run. */
export interface Search {
  readonly modes: readonly FaultMode[]
  /** The first seed. */
  readonly from: number
  /** How many histories to run in all; the modes take turns. */
  readonly histories: number
  readonly size: PlanSize
  /** Which of the workers that share a search this one is. Worker `index` runs every `of`th history. */
  readonly share?: { readonly of: number; readonly index: number }
  /** The rules whose violations count. Default: all. */
  readonly rules?: readonly string[]
}

/** A history that broke a promise. */
export interface Finding {
  /** The place of the history in its search, from 0 on. */
  readonly number: number
  readonly seed: number
  readonly mode: FaultMode
  readonly rule: string
  readonly message: string
}

/** What a search has seen. */
export interface SearchResult {
  histories: number
  events: number
  deliveries: number
  steps: number
  calls: number
  virtualMs: number
  /** How often each pair of operation and fault came to pass, by `mode operation/fault`. */
  readonly coverage: Record<string, number>
  readonly findings: Finding[]
}

/** Returns an empty result, to be added to. */
export function emptyResult(): SearchResult {
  return {
    histories: 0,
    events: 0,
    deliveries: 0,
    steps: 0,
    calls: 0,
    virtualMs: 0,
    coverage: {},
    findings: [],
  }
}

/**
 * Runs histories one after another. Calls back after each with its place in the search, and ends early when the
 * callback returns false.
 */
export async function simulateMany(
  search: Search,
  onHistory: (result: SearchResult, number: number) => boolean = () => true,
): Promise<SearchResult> {
  const result = emptyResult()
  const { modes, from, histories, size, share = { of: 1, index: 0 } } = search
  for (let number = share.index; number < histories; number += share.of) {
    const mode = modes[number % modes.length]!
    const plan = planSimulation(from + Math.floor(number / modes.length), mode, size)
    const run = await runSimulation(plan)
    addRun(result, plan, run)
    const broken = run.violations.find(({ rule }) => search.rules?.includes(rule) ?? true)
    if (broken !== undefined) {
      const { rule, message } = broken
      result.findings.push({ number, seed: plan.seed, mode, rule, message })
    }
    if (!onHistory(result, number)) break
  }
  return result
}

function addRun(result: SearchResult, { mode, transactions }: SimulationPlan, run: SimulationRun): void {
  result.histories += 1
  result.events += transactions.reduce((sum, { events }) => sum + events.length, 0)
  result.deliveries += run.deliveries
  result.steps += run.steps
  result.calls += run.calls
  result.virtualMs += run.virtualMs
  for (const pair of run.harmed) {
    const name = `${mode} ${pair}`
    result.coverage[name] = (result.coverage[name] ?? 0) + 1
  }
}

/** Adds one result to another. */
export function addResult(result: SearchResult, more: SearchResult): void {
  for (const name of ['histories', 'events', 'deliveries', 'steps', 'calls', 'virtualMs'] as const) {
    result[name] += more[name]
  }
  for (const [pair, count] of Object.entries(more.coverage)) {
    result.coverage[pair] = (result.coverage[pair] ?? 0) + count
  }
  result.findings.push(...more.findings)
}
