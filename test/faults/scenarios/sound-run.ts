import { equal } from 'node:assert/strict'
import type { Violation } from '../judge/checker.ts'
import { type FaultRun, type FaultRunOptions, runFaults, scenarios } from '../run/run-faults.ts'
import { testSeed } from '../run/scale.ts'

export interface Diagnosed {
  diagnostic(message: string): void
}

/** A run that has to keep every promise. Prints how it went, and how to repeat it. */
export async function soundRun(test: Diagnosed, options: Omit<FaultRunOptions, 'seed'>): Promise<FaultRun> {
  const seed = testSeed()
  const repeat = commandOf({ ...options, seed })
  test.diagnostic(repeat)
  const run = await runFaults({ ...options, seed }).catch((cause: unknown) => {
    throw new Error(`The run could not be judged. Repeat it with: ${repeat}`, { cause })
  })
  test.diagnostic(`seed ${seed}, ${Math.round(run.durationMs)} ms: ${JSON.stringify(run.summary)}`)
  equal(
    run.violations.length,
    0,
    `${run.violations.length} violations. Repeat the run with: ${repeat}\n${tell(run.violations).join('\n')}`,
  )
  return run
}

// A few of each rule: many of one must not hide one of another.
function tell(violations: readonly Violation[]): readonly string[] {
  return Object.entries(Object.groupBy(violations, ({ rule }) => rule)).flatMap(([rule, ofRule = []]) => [
    `${rule}: ${ofRule.length} times`,
    ...ofRule.slice(0, 4).map(({ message }) => `  ${message}`),
  ])
}

function commandOf(options: FaultRunOptions): string {
  const { store, mode, seed, events, faults, durationMs, keys, workers } = options
  // No two scenarios have the same behaviours.
  const name = Object.keys(scenarios).find((each) => scenarios[each]!.behaviours === options.behaviours)
  const scenario = name === undefined ? '' : ` --scenario ${name}`
  return `node test/faults/run/run-faults.ts --store ${store} --mode ${mode}${scenario} --seed ${seed} --events ${events} --faults ${faults} --duration-ms ${durationMs} --keys ${keys} --workers ${workers}${options.oldRelease ? ' --rollout' : ''}`
}
