import { findSubject, measureRequest } from './find-subject.ts'
import { sharedNow } from './statistics.ts'
import type { RunningWorker } from './store-bench.ts'

/** A command to a worker process. */
export type WorkerOrder =
  | {
      readonly kind: 'start'
      readonly database: string
      readonly collect: 'counts' | 'times'
      readonly reportMs: number
    }
  | { readonly kind: 'usage' }
  | { readonly kind: 'stop' }

/** A report of a worker process: its reply to a command, or its deliveries every few milliseconds. */
export type WorkerReport =
  | { readonly kind: 'ready' }
  | { readonly kind: 'started' }
  | { readonly kind: 'usage'; readonly cpuUs: number; readonly rssBytes: number }
  | { readonly kind: 'stopped'; readonly cpuUs: number }
  | {
      readonly kind: 'delivered'
      readonly count: number
      readonly lastAt: number
      /** The number of each event and the time of its delivery in turn, if requested. */
      readonly times: readonly number[]
    }

// Delivers for a subject that the parent process measures.
if (import.meta.main) {
  process.on('disconnect', () => process.exit(1))
  const { conditions, ...request } = measureRequest()
  const startWorker = findSubject({ conditions, ...request }).worker!
  let running: RunningWorker | undefined
  let cpu = process.cpuUsage()
  let reporter: NodeJS.Timeout | undefined
  let [count, lastAt] = [0, 0]
  let times: number[] = []

  const tell = (message: WorkerReport) => process.send!(message)
  const tellDelivered = () => {
    if (count === 0) return
    tell({ kind: 'delivered', count, lastAt, times })
    count = 0
    times = []
  }

  process.on('message', (order: WorkerOrder) => void obey(order))
  tell({ kind: 'ready' })

  async function obey(order: WorkerOrder): Promise<void> {
    if (order.kind === 'start') {
      cpu = process.cpuUsage()
      reporter = setInterval(tellDelivered, order.reportMs)
      const collectTimes = order.collect === 'times'
      running = await startWorker(order.database, conditions, (event) => {
        count++
        lastAt = sharedNow()
        if (collectTimes) times.push(event.payload.i, lastAt)
      })
      tell({ kind: 'started' })
      return
    }
    if (order.kind === 'usage') {
      const { user, system } = process.cpuUsage(cpu)
      tell({ kind: 'usage', cpuUs: user + system, rssBytes: process.memoryUsage.rss() })
      return
    }
    const { user, system } = process.cpuUsage(cpu)
    await running?.stop()
    clearInterval(reporter)
    tellDelivered()
    tell({ kind: 'stopped', cpuUs: user + system })
  }
}
