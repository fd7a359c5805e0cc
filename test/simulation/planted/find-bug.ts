import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { planSimulation, usualSize } from '../plan/plan-simulation.ts'
import type { searchInParallel } from '../search/search-in-parallel.ts'
import type { Finding } from '../search/simulate-many.ts'
import { runSimulation } from '../world/run-simulation.ts'
import { plantBug } from './plant-bug.ts'
import type { PlantedBug } from './planted-bugs.ts'

/** How a search for a planted bug ended. */
export interface BugSearch {
  /** The history that shows the bug; undefined if none did. */
  readonly finding: Finding | undefined
  /** How many histories the search ran up to that one. */
  readonly histories: number
  readonly seconds: number
}

/** How long a search may take, in ms. */
const limitMs = 120_000

/** More histories than a search can run in its time. */
const histories = 1_000_000

/** Plants a bug in a copy of the sources, and searches there until a history shows it. */
export async function findBug({ file, modes, rules }: PlantedBug, seed: number): Promise<BugSearch> {
  const tree = plantBug(file)
  try {
    const startedAt = performance.now()
    const search = await searchOf(tree.path)
    const end = (finding: Finding | undefined, count: number): BugSearch => ({
      finding,
      histories: count,
      seconds: (performance.now() - startedAt) / 1000,
    })
    let ran = 0
    for (let from = seed; ;) {
      const leftMs = startedAt + limitMs - performance.now()
      const result = await search({
        search: { modes, from, histories, size: usualSize, rules },
        stopsAtFirst: true,
        limitMs: leftMs,
      })
      const [finding] = result.findings
      if (finding === undefined) return end(undefined, ran + result.histories)
      ran += finding.number + 1
      if (await isSound(finding)) return end(finding, ran)
      // The same history breaks a promise without the bug, so it proves nothing.
      from = finding.seed + 1
    }
  } finally {
    tree.remove()
  }
}

/** Returns the search of a tree, so that its workers run the code of that tree. */
async function searchOf(tree: string): Promise<typeof searchInParallel> {
  const file = join(tree, 'test/simulation/search/search-in-parallel.ts')
  const module = (await import(pathToFileURL(file).href)) as { searchInParallel: typeof searchInParallel }
  return module.searchInParallel
}

/** Returns whether a history keeps every promise in the tree without the bug. */
async function isSound({ seed, mode }: Finding): Promise<boolean> {
  const { violations } = await runSimulation(planSimulation(seed, mode))
  return violations.length === 0
}
