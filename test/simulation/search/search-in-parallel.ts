import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { WorkerTask } from './search-worker.ts'
import { addResult, emptyResult, type Search, type SearchResult } from './simulate-many.ts'

/** Options of a search. */
export interface ParallelSearch {
  readonly search: Search
  readonly workers?: number
  /** Whether to stop at the first broken promise. It is the same with any number of workers. */
  readonly stopsAtFirst?: boolean
  /** How long the search may take, in ms. */
  readonly limitMs?: number
  readonly onProgress?: (histories: number) => void
}

/** Shares a search among worker threads, one for each core, and adds up their results. */
export async function searchInParallel(options: ParallelSearch): Promise<SearchResult> {
  const {
    search,
    workers = availableParallelism(),
    stopsAtFirst = false,
    limitMs = Infinity,
    onProgress,
  } = options
  const done = Array.from({ length: workers }, () => 0)
  const firstBroken = stopsAtFirst ? new Int32Array(new SharedArrayBuffer(4)).fill(2 ** 31 - 1) : undefined
  const running: Worker[] = []
  const results = Array.from({ length: workers }, (_, index) => {
    const task: WorkerTask = {
      search: { ...search, share: { of: workers, index } },
      firstBroken,
      until: Date.now() + limitMs,
    }
    const worker = new Worker(new URL('./search-worker.ts', import.meta.url), {
      workerData: task,
      // Most objects live for one history. Collecting them rarely saves a tenth of the time.
      resourceLimits: { maxYoungGenerationSizeMb: 64 },
    })
    running.push(worker)
    return new Promise<SearchResult>((resolve, reject) => {
      worker.on('message', (message: WorkerMessage) => {
        if (message.kind === 'ended') return resolve(message.result)
        done[index] = message.histories
        onProgress?.(done.reduce((sum, count) => sum + count, 0))
      })
      worker.on('error', reject)
      worker.on('exit', (code) => reject(new Error(`A worker of the search ended with code ${code}.`)))
    })
  })
  const ended = await Promise.allSettled(results)
  const total = emptyResult()
  for (const each of ended) if (each.status === 'fulfilled') addResult(total, each.value)
  const failure = ended.find((each) => each.status === 'rejected')
  if (failure !== undefined && total.findings.length === 0) throw failure.reason
  await Promise.all(running.map((worker) => worker.terminate()))
  total.findings.sort((a, b) => a.number - b.number)
  return total
}

type WorkerMessage =
  | { readonly kind: 'ended'; readonly result: SearchResult }
  | { readonly kind: 'progress'; readonly histories: number }
