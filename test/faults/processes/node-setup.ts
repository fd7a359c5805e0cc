import { appendFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../../../packages/sendoff/src/observe/logger.ts'
import { InMemoryMetrics } from '../../../packages/sendoff/src/observe/metrics.ts'
import { fixedDelay } from '../../../packages/sendoff/src/retry/fixed-delay.ts'
import { Outbox } from '../../../packages/sendoff/src/outbox/outbox.ts'
import type { WriterOutbox } from '../../../packages/sendoff/src/outbox/writer-outbox.ts'
import type { FaultStore } from '../stores/fault-store.ts'
import { faultStore } from '../stores/fault-stores.ts'
import { HistoryFile, monotonicMs } from '../history/history-file.ts'
import { twoWays } from '../history/rows-of-events.ts'
import { observedStore, observeStalls } from './observed-store.ts'
import { heardTypes, plannedListeners } from './planned-listeners.ts'
import { type RenewalLosses, SilentRenewals } from './silent-renewals.ts'

export type FaultMode = 'multiNode' | 'singleNode' | 'singleWriter' | 'partitioned' | 'ordered'

/** Returns whether a mode delivers in order. */
export function keepsOrder(mode: FaultMode): boolean {
  return mode === 'partitioned' || mode === 'ordered'
}

/** Settings that the driver and the processes of a run share. */
export interface NodeSettings {
  readonly store: string
  readonly location: string
  readonly folder: string
  /** Unique per process start. */
  readonly name: string
  readonly mode: FaultMode
  readonly workerCount: number
  readonly leaseMs: number
  readonly intervalMs: number
  readonly maxAttempts: number
  readonly maxLosses: number
  readonly hangTimeoutMs: number
  readonly hangGraceMs: number
  readonly renewalLosses: RenewalLosses
  /** Whether processes have listeners for different events, and leave other events to one another. */
  readonly listenersDiffer: boolean
  /** Whether queues and batches have their default sizes. */
  readonly hasUsualQueues: boolean
  /** How long closing continues with queued events, and then waits for listeners, in ms each. */
  readonly closeMs: number
  /** When the second destination cannot be reached, by the monotonic clock; left out without destinations. */
  readonly broken?: { readonly from: number; readonly to: number }
}

export interface Node {
  readonly outbox: WriterOutbox<any>
  readonly store: FaultStore
  readonly settings: NodeSettings
  readonly history: HistoryFile
  /** Closes the outbox, and then the clients of its store. */
  close(): Promise<void>
}

/** Starts the outbox of a process as its first argument says, with listeners unless it only writes. */
export async function startNode(role: 'delivers' | 'writesOnly'): Promise<Node> {
  const settings = JSON.parse(process.argv[2]!) as NodeSettings
  const { leaseMs, hangTimeoutMs, hangGraceMs, maxAttempts, maxLosses: maxLosses, closeMs } = settings
  const history = new HistoryFile(settings.folder, settings.name)
  // A single writer renews its lock later than others do.
  const cutOffMs = leaseMs / (settings.mode === 'singleWriter' ? 4 : 2)
  const kind = await faultStore(settings.store)
  const opened = kind.open(settings.location)
  const renewals = new SilentRenewals(history, settings.renewalLosses, leaseMs)
  const store = observedStore(opened.store, history, cutOffMs, renewals)
  const metrics = new InMemoryMetrics()
  observeStalls(history, cutOffMs)
  const logger = logTo(join(settings.folder, `${settings.name}.log`))
  endWithParent()

  const routing = settings.broken && { routing: twoWays }
  const outbox =
    role === 'writesOnly'
      ? Outbox.writerOnly<any>({ store, logger, ownerId: settings.name, ...routing })
      : Outbox[settings.mode]<any>({
          store,
          listeners: plannedListeners(history, heardTypes(settings.name, settings.listenersDiffer), {
            leaseMs,
            hangTimeoutMs,
            hangMs: (hangTimeoutMs + hangGraceMs) * 4,
            // In order, later events have to wait for them.
            longestMs: keepsOrder(settings.mode) || settings.workerCount === 1 ? 20 : 65,
            outlastCloseMs: closeMs * 8,
            broken: settings.broken,
          }),
          ...routing,
          logger,
          metrics,
          ownerId: settings.name,
          leaseMs,
          maxAttempts,
          maxLosses: maxLosses,
          retryPolicy: fixedDelay(100),
          timeoutGraceMs: hangGraceMs,
          drainTimeoutMs: closeMs,
          shutdownTimeoutMs: closeMs,
          ...(settings.listenersDiffer && { onUnroutable: 'defer', unroutableDelayMs: 1_000 }),
          ...sizesOf(settings),
        })
  await startWhenPossible(outbox, logger)
  // For the next processes: a killed process leaves no compiled code behind.
  flushCompileCache()
  history.say({ kind: 'ready', delivers: role === 'delivers' })
  return {
    outbox,
    store: kind,
    settings,
    history,
    async close() {
      await outbox.close()
      history.say({ kind: 'refusalsTold', count: metrics.settlementRefused })
      await opened.end()
    },
  }
}

function sizesOf({ mode, workerCount, intervalMs, hasUsualQueues }: NodeSettings): {
  readonly poller: { readonly intervalMs: number; readonly batchSize?: number }
  readonly coldQueueCapacity?: number
  readonly workerCount?: number
  readonly hotQueueCapacity?: number
} {
  if (hasUsualQueues) return { poller: { intervalMs }, workerCount }
  // Events that are taken over are judged by their start, so they must not wait behind a long queue.
  const cold = { poller: { intervalMs, batchSize: 20 }, coldQueueCapacity: 60 }
  if (mode === 'ordered') return cold
  // Small, so that a part of the events that a node writes is left to the poller.
  return { ...cold, workerCount, ...(mode !== 'partitioned' && { hotQueueCapacity: 15 }) }
}

/** Starts the outbox as a supervisor would: again and again while its database is down. */
async function startWhenPossible(outbox: WriterOutbox<any>, logger: Logger): Promise<void> {
  for (;;) {
    try {
      await outbox.start()
      return
    } catch (error) {
      logger.warn(`Starting failed. ${String(error)}`)
      await delay(100)
    }
  }
}

/** Logs warnings and errors with the time of the history's clock. */
function logTo(file: string): Logger {
  const write = (message: string) => appendFileSync(file, `${monotonicMs()} ${message}\n`)
  return { debug() {}, info() {}, warn: write, error: write }
}

// The processes are in no group of the driver: they have to notice its end themselves.
function endWithParent(): void {
  const parent = process.ppid
  setInterval(() => process.ppid !== parent && process.exit(1), 500).unref()
}
