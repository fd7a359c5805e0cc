import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { WorkerKind, WorkerMessage, WorkerOrder, WorkerWord } from './worker-process.ts'

/** A worker in a process of its own, whose metrics are scraped at its port. */
export class MonitoredWorker {
  readonly #child: ChildProcess
  /** By the number of the order. Orders may overlap, and the worker carries them out side by side. */
  readonly #waiting = new Map<number, PromiseWithResolvers<WorkerWord>>()
  #orders = 0
  #port = 0

  private constructor(child: ChildProcess) {
    this.#child = child
    child.on('message', ({ order, word }: WorkerMessage) => {
      this.#waiting.get(order)?.resolve(word)
      this.#waiting.delete(order)
    })
    child.on('exit', (code) => {
      const error = new Error(`The worker ended with exit code ${String(code)}.`)
      for (const { reject } of this.#waiting.values()) reject(error)
    })
  }

  static async start(url: string, schema: string, kind: WorkerKind = 'plain'): Promise<MonitoredWorker> {
    const worker = new MonitoredWorker(
      fork(join(import.meta.dirname, 'worker-process.ts'), [url, schema, kind]),
    )
    const { port } = (await worker.#wordOn(0)) as { port: number }
    worker.#port = port
    return worker
  }

  get port(): number {
    return this.#port
  }

  /** Writes events. Their type says what their listener does. */
  async write(count: number, type = 'Ordered'): Promise<void> {
    await this.order({ write: count, type })
  }

  async report(): Promise<{ readonly calls: number; readonly failures: number }> {
    return (await this.order({ report: true })) as { calls: number; failures: number }
  }

  /** Resolves when the worker has done it. */
  order(order: WorkerOrder): Promise<WorkerWord> {
    const number = ++this.#orders
    this.#child.send({ number, order })
    return this.#wordOn(number)
  }

  #wordOn(order: number): Promise<WorkerWord> {
    const word = Promise.withResolvers<WorkerWord>()
    this.#waiting.set(order, word)
    return word.promise
  }

  /** Stops the process on the spot, until it is resumed. */
  freeze(): void {
    this.#child.kill('SIGSTOP')
  }

  resume(): void {
    this.#child.kill('SIGCONT')
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}

/** Resolves when a condition holds that is asked for again and again. */
export async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await pause(100)
}
