import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { WorkerOrder, WorkerReport } from './worker-process.ts'

export type Delivered = Extract<WorkerReport, { kind: 'delivered' }>

/** Further processes that deliver for the subject that this process measures. */
export class WorkerProcesses {
  readonly #children: readonly ChildProcess[]
  #onDelivered: (report: Delivered) => void = () => {}

  static async fork(count: number): Promise<WorkerProcesses> {
    const script = join(import.meta.dirname, 'worker-process.ts')
    const children = Array.from({ length: count }, () =>
      fork(script, [process.argv[2]!], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }),
    )
    await Promise.all(children.map((child) => answer(child, 'ready')))
    return new WorkerProcesses(children)
  }

  private constructor(children: readonly ChildProcess[]) {
    this.#children = children
    for (const child of children) {
      child.on('message', (report: WorkerReport) => {
        if (report.kind === 'delivered') this.#onDelivered(report)
      })
    }
  }

  /**
   * Resolves when all of them have begun to deliver. They report their deliveries until they are stopped,
   * every few milliseconds by default.
   */
  async start(
    database: string,
    collect: 'counts' | 'times',
    onDelivered: (report: Delivered) => void,
    reportMs = 5,
  ): Promise<void> {
    this.#onDelivered = onDelivered
    await this.#tellAll({ kind: 'start', database, collect, reportMs }, 'started')
  }

  /** Resolves with the CPU time since their start, and the memory they take, of all of them together. */
  async usage(): Promise<{ readonly cpuUs: number; readonly rssBytes: number }> {
    const reports = await this.#tellAll({ kind: 'usage' }, 'usage')
    return {
      cpuUs: reports.reduce((sum, { cpuUs }) => sum + cpuUs, 0),
      rssBytes: reports.reduce((sum, { rssBytes }) => sum + rssBytes, 0),
    }
  }

  /** Resolves with their CPU time when all of them have stopped and have reported all deliveries. */
  async stop(): Promise<number> {
    const reports = await this.#tellAll({ kind: 'stop' }, 'stopped')
    return reports.reduce((sum, { cpuUs }) => sum + cpuUs, 0)
  }

  async end(): Promise<void> {
    await Promise.all(
      this.#children.map((child) => {
        const exited = once(child, 'exit')
        child.disconnect()
        return exited
      }),
    )
  }

  #tellAll<Kind extends WorkerReport['kind']>(order: WorkerOrder, kind: Kind) {
    return Promise.all(
      this.#children.map((child) => {
        const answered = answer(child, kind)
        child.send(order)
        return answered
      }),
    )
  }
}

function answer<Kind extends WorkerReport['kind']>(
  child: ChildProcess,
  kind: Kind,
): Promise<Extract<WorkerReport, { kind: Kind }>> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`A worker process ended with code ${code}.`))
    const onMessage = (report: WorkerReport) => {
      if (report.kind !== kind) return
      child.off('message', onMessage)
      child.off('exit', onExit)
      resolve(report as Extract<WorkerReport, { kind: Kind }>)
    }
    child.on('message', onMessage)
    child.on('exit', onExit)
  })
}
