// One worker of a search: runs its share of the histories and reports to its parent.
import { parentPort, workerData } from 'node:worker_threads'
import { addResult, emptyResult, type Search, type SearchResult, simulateMany } from './simulate-many.ts'

/** What a worker is told. */
export interface WorkerTask {
  readonly search: Search
  /**
   * The place of the first history that broke a promise, for all workers of a search that stops there.
   * Workers still run the histories before it, so that a search always finds the same one.
   */
  readonly firstBroken: Int32Array | undefined
  /** When to stop, in epoch ms. */
  readonly until: number
}

/** How many histories a worker reports together. */
const reportEvery = 10

const { search, firstBroken, until } = workerData as WorkerTask
const reported = emptyResult()
const result = await simulateMany(search, (soFar, number) => {
  if (soFar.histories % reportEvery === 0) report(soFar.histories)
  if (firstBroken !== undefined && isBehind(firstBroken, soFar, number)) return false
  return Date.now() < until
})
parentPort!.postMessage({ kind: 'ended', result })

function report(histories: number): void {
  addResult(reported, { ...emptyResult(), histories: histories - reported.histories })
  parentPort!.postMessage({ kind: 'progress', histories: reported.histories })
}

/** Returns whether the next history of this worker comes after the first that broke a promise. */
function isBehind(first: Int32Array, { findings: [finding] }: SearchResult, number: number): boolean {
  let known = Atomics.load(first, 0)
  while (finding !== undefined && finding.number < known) {
    known = Atomics.compareExchange(first, 0, known, finding.number)
  }
  return number + (search.share?.of ?? 1) > Math.min(known, finding?.number ?? known)
}
