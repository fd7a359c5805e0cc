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
import { observedStore, observeStalls } from './observed-store.ts'
import { heardTypes, plannedListeners } from './planned-listeners.ts'
import { type RenewalLosses, SilentRenewals } from './silent-renewals.ts'

export type FaultMode = 'multiNode' | 'singleNode' | 'singleWriter' | 'partitioned' | 'ordered'

/** Whether a mode keeps events in order. */
export function keepsOrder(mode: FaultMode): boolean {
  return mode === 'partitioned' || mode === 'ordered'
}

/** What the driver and the processes of a run have to agree on. */
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
  /** Whether processes have listeners for different events, and leave the others' to them. */
  readonly listenersDiffer: boolean
  /** Whether queues are as long, and batches as large, as they are without options. */
  readonly hasUsualQueues: boolean
  /** How long closing goes on with queued events, and waits for listeners: each of them so long. */
  readonly closeMs: number
}

export interface Node {
  readonly outbox: WriterOutbox<any>
  readonly store: FaultStore
  readonly settings: NodeSettings
  readonly history: HistoryFile
  /** Closes the outbox and ends what its store was handed. */
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

  const outbox =
    role === 'writesOnly'
      ? Outbox.writerOnly<any>({ store, logger, ownerId: settings.name })
      : Outbox[settings.mode]<any>({
          store,
          listeners: plannedListeners(history, heardTypes(settings.name, settings.listenersDiffer), {
            leaseMs,
            hangTimeoutMs,
            hangMs: (hangTimeoutMs + hangGraceMs) * 4,
            // What stands behind them has to wait.
            longestMs: keepsOrder(settings.mode) || settings.workerCount === 1 ? 20 : 65,
            outlastCloseMs: closeMs * 8,
          }),
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
  // For the next ones: whoever is killed leaves no compiled code behind.
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
  // What is taken over must not have to wait behind a long queue: it is judged by its start.
  const cold = { poller: { intervalMs, batchSize: 20 }, coldQueueCapacity: 60 }
  if (mode === 'ordered') return cold
  // Small, so that part of what a node writes is left to the poller.
  return { ...cold, workerCount, ...(mode !== 'partitioned' && { hotQueueCapacity: 15 }) }
}

/** As a supervisor would: a process that is started while its database is down is started again. */
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

/** Warnings and errors with the time, as the history has it. */
function logTo(file: string): Logger {
  const write = (message: string) => appendFileSync(file, `${monotonicMs()} ${message}\n`)
  return { debug() {}, info() {}, warn: write, error: write }
}

// The driver leads no group that its processes belong to: they have to notice its end themselves.
function endWithParent(): void {
  const parent = process.ppid
  setInterval(() => process.ppid !== parent && process.exit(1), 500).unref()
}
