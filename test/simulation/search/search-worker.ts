// One worker of a search: runs its share of the histories and reports to its parent.
import { parentPort, workerData } from 'node:worker_threads'
import { addResult, emptyResult, type Search, simulateMany } from './simulate-many.ts'

/** What a worker is told. */
export interface WorkerTask {
  readonly search: Search
  /** Whether to stop at the first broken promise. */
  readonly stopsAtFirst: boolean
  /** When to stop, in epoch ms. */
  readonly until: number
}

/** How many histories a worker reports together. */
const reportEvery = 10

const { search, stopsAtFirst, until } = workerData as WorkerTask
const reported = emptyResult()
const result = await simulateMany(search, (soFar) => {
  if (soFar.histories % reportEvery === 0) report(soFar.histories)
  if (stopsAtFirst && soFar.findings.length > 0) return false
  return Date.now() < until
})
parentPort!.postMessage({ kind: 'ended', result })

function report(histories: number): void {
  addResult(reported, { ...emptyResult(), histories: histories - reported.histories })
  parentPort!.postMessage({ kind: 'progress', histories: reported.histories })
}
