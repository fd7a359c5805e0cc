import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isOfBroken } from '../faults/history/rows-of-events.ts'
import type { Act } from '../faults/history/history-record.ts'
import type { FaultMode } from '../faults/processes/node-setup.ts'
import { planSimulation, usualSize } from './plan/plan-simulation.ts'
import { sequenceDiagram } from './report/sequence-diagram.ts'
import { timelineText } from './report/timeline-text.ts'
import type { SimulationPlan } from './plan/simulation-plan.ts'
import { searchInParallel } from './search/search-in-parallel.ts'
import { shrinkPlan, sizeOf } from './search/shrink-plan.ts'
import { simulatedModes } from './search/simulate-many.ts'
import { runSimulation } from './world/run-simulation.ts'
import { seedOfCommit } from './plan/seed-of-commit.ts'

const small = { processes: 3, events: 40, faults: 10 }

describe('a simulated history', () => {
  for (const mode of simulatedModes) {
    it(`is the same for the same seed, record by record, ${mode}`, async () => {
      const plan = planSimulation(7, mode, small)
      const first = await runSimulation(plan, { withTimeline: true })
      const second = await runSimulation(planSimulation(7, mode, small), { withTimeline: true })
      deepEqual(second.records, first.records)
      deepEqual(second.timeline, first.timeline)
      equal(second.steps, first.steps)
      ok(first.deliveries >= 20)
    })
  }

  for (const mode of simulatedModes.filter((each) => each !== 'ordered')) {
    it(`may have a destination that cannot be reached for a third of it, ${mode}`, async () => {
      const plan = firstWithDestinations(mode)
      const { records, violations } = await runSimulation(plan)
      const starts = records.filter((record) => record.kind === 'start')
      const received = starts.filter(({ event, act }) => isOfBroken(event) && act === 'succeed')
      const gaps = received.map(({ at }, index) => ({ from: received[index - 1]?.at ?? 0, to: at }))
      const inGap = ({ from, to }: { from: number; to: number }, act: Act, isBroken: boolean) =>
        starts.filter(
          (each) => each.at > from && each.at < to && each.act === act && isOfBroken(each.event) === isBroken,
        ).length
      const gap = gaps.reduce((one, other) =>
        inGap(other, 'defer', true) > inGap(one, 'defer', true) ? other : one,
      )

      // Bursts of writes take a few milliseconds.
      const writingMs = Math.max(...plan.transactions.map(({ at }) => at)) - 100
      ok((gap.to - gap.from) * 3 >= writingMs, `${gap.to - gap.from} ms of ${writingMs}`)
      ok(inGap(gap, 'defer', true) >= 10)
      ok(inGap(gap, 'succeed', false) >= 5)
      deepEqual(violations, [])
    })
  }

  it('is another one for another seed', async () => {
    const [one, two] = await Promise.all(
      [1, 2].map((seed) => runSimulation(planSimulation(seed, 'multiNode', small))),
    )
    equal(one!.steps === two!.steps, false)
  })

  it('has a timeline and a picture', async () => {
    const plan = planSimulation(7, 'partitioned', small)
    const run = await runSimulation(plan, { withTimeline: true })
    const text = timelineText(plan, run)
    match(text, /^seed 7, mode partitioned, (random|priority) delays: 3 processes, 40 events/)
    match(text, /p\d\.1 +start \{/)
    const svg = sequenceDiagram(plan, run)
    match(svg, /^<svg xmlns=/)
    match(svg, /every promise was kept/)
    equal(svg.split('<circle').length - 1 <= 400, true)
  })

  it('shrinks to what breaks the promise', async () => {
    const plan = planSimulation(3, 'multiNode')
    const culprit = plan.transactions[4]!.events[0]!.id
    const fault = plan.faults.find(({ kind }) => kind === 'call')!
    const broken = { rule: 'a rule', message: 'forged' }
    const { plan: shrunk } = await shrinkPlan(
      plan,
      'a rule',
      undefined,
      undefined,
      async ({ transactions, faults }) => {
        const isThere = transactions.some(({ events }) => events.some(({ id }) => id === culprit))
        return { violations: isThere && faults.some(({ at }) => at === fault.at) ? [broken] : [] }
      },
    )
    // One fault, and one transaction with its event.
    equal(sizeOf({ ...shrunk, processes: [] }), 3)
  })
})

/** Returns the first plan of a mode in which events have two destinations. */
function firstWithDestinations(mode: FaultMode): SimulationPlan {
  for (let seed = 1; ; seed++) {
    const plan = planSimulation(seed, mode)
    if (plan.settings.broken !== undefined) return plan
  }
}

describe('the engine in simulated histories', () => {
  it('keeps every promise', async (test) => {
    const isFull = process.env.SENDOFF_TEST_SCALE === 'full'
    const search = { from: seedOfCommit(), histories: isFull ? 2_500 : 300 }
    const { histories, findings } = await searchInParallel({
      search: { ...search, modes: simulatedModes, size: usualSize },
    })
    test.diagnostic(`${histories} histories from seed ${search.from} on`)
    deepEqual(
      findings.map((finding) => ({
        ...finding,
        replay: `npm run simulate -- --seed ${finding.seed} --mode ${finding.mode}`,
      })),
      [],
    )
  })
})
