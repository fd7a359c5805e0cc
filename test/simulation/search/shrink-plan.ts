import type { PlannedFault, SimulationPlan } from '../plan/simulation-plan.ts'
import { runSimulation } from '../world/run-simulation.ts'

/** A plan that nothing can be left out of, and how many histories it took to find it. */
export interface ShrunkPlan {
  readonly plan: SimulationPlan
  readonly tries: number
}

/**
 * Leaves out faults, transactions, events and processes, as long as the same promise stays broken. First leaves out large
 * parts, then single ones.
 */
export async function shrinkPlan(
  plan: SimulationPlan,
  rule: string,
  onProgress: (plan: SimulationPlan, tries: number) => void = () => {},
  mostTries = 3_000,
): Promise<ShrunkPlan> {
  let current = plan
  let tries = 0

  const isKept = async (smaller: SimulationPlan): Promise<boolean> => {
    if (tries >= mostTries) return false
    tries += 1
    const { violations } = await runSimulation(smaller)
    if (!violations.some((violation) => violation.rule === rule)) return false
    current = smaller
    onProgress(current, tries)
    return true
  }

  for (let sizeBefore = Infinity; sizeOf(current) < sizeBefore && tries < mostTries;) {
    sizeBefore = sizeOf(current)
    await without(
      () => current.faults,
      (faults) => isKept({ ...current, faults }),
    )
    await without(
      () => current.transactions,
      (transactions) => isKept({ ...current, transactions }),
    )
    for (const { name } of current.transactions) {
      await without(
        () => current.transactions.find((each) => each.name === name)?.events ?? [],
        (events) => isKept(withEvents(current, name, events)),
      )
    }
    for (const { slot } of current.processes.toReversed()) await isKept(withoutProcess(current, slot))
    for (const fault of current.faults) await isKept(withShorter(current, fault))
    for (const { name } of current.transactions) await isKept(withPlain(current, name))
  }
  return { plan: current, tries }
}

/** How many things a plan consists of. */
export function sizeOf({ faults, transactions, processes }: SimulationPlan): number {
  return (
    faults.length + processes.length + transactions.reduce((sum, { events }) => sum + 1 + events.length, 0)
  )
}

/** Leaves out runs of items: half of them, a quarter, and so on down to single ones. */
async function without<Item>(
  items: () => readonly Item[],
  isKept: (fewer: readonly Item[]) => Promise<boolean>,
): Promise<void> {
  for (let size = Math.ceil(items().length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < items().length;) {
      const fewer = items().filter((_, index) => index < start || index >= start + size)
      if (!(await isKept(fewer))) start += size
    }
  }
}

function withEvents(
  plan: SimulationPlan,
  name: string,
  events: SimulationPlan['transactions'][number]['events'],
): SimulationPlan {
  const transactions = plan.transactions.map((each) => (each.name === name ? { ...each, events } : each))
  return { ...plan, transactions: transactions.filter((each) => each.events.length > 0) }
}

function withoutProcess(plan: SimulationPlan, slot: string): SimulationPlan {
  return {
    ...plan,
    processes: plan.processes.filter((each) => each.slot !== slot),
    transactions: plan.transactions.filter((each) => each.slot !== slot),
    faults: plan.faults.filter((fault) => slotOf(fault) !== slot),
  }
}

function slotOf(fault: PlannedFault): string | undefined {
  return fault.kind === 'call' ? fault.call.slot : 'slot' in fault ? fault.slot : undefined
}

/** A transaction without anything special is easier to read. */
function withPlain(plan: SimulationPlan, name: string): SimulationPlan {
  return {
    ...plan,
    transactions: plan.transactions.map((each) => {
      if (each.name !== name) return each
      const { repeats: _, ...plain } = each
      return { ...plain, openMs: 0, rollsBack: false, hasUndonePart: false, together: true }
    }),
  }
}

function withShorter(plan: SimulationPlan, fault: PlannedFault): SimulationPlan {
  const halved =
    fault.kind === 'call'
      ? { ...fault, call: { ...fault.call, ms: fault.call.ms / 2 } }
      : 'ms' in fault
        ? { ...fault, ms: fault.ms / 2 }
        : fault
  return { ...plan, faults: plan.faults.map((each) => (each === fault ? halved : each)) }
}
