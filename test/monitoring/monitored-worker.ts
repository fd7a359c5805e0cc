import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { WorkerKind, WorkerOrder, WorkerWord } from './worker-process.ts'

/** A worker in a process of its own, whose metrics are scraped at its port. */
export class MonitoredWorker {
  readonly port: number
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, port: number) {
    this.#child = child
    this.port = port
  }

  static async start(url: string, schema: string, kind: WorkerKind = 'plain'): Promise<MonitoredWorker> {
    const child = fork(join(import.meta.dirname, 'worker-process.ts'), [url, schema, kind])
    const word = (await nextWord(child)) as WorkerWord & { port: number }
    return new MonitoredWorker(child, word.port)
  }

  /** Writes events. Their type says what their listener does. */
  async write(count: number, type = 'Ordered'): Promise<void> {
    await this.order({ write: count, type })
  }

  async report(): Promise<{ readonly calls: number; readonly failures: number }> {
    return (await this.order({ report: true })) as { calls: number; failures: number }
  }

  /** Resolves when the worker has done it. */
  async order(order: WorkerOrder): Promise<WorkerWord> {
    this.#child.send(order)
    return await nextWord(this.#child)
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

/** Returns what a worker says next. Rejects if its process ends instead. */
async function nextWord(child: ChildProcess): Promise<WorkerWord> {
  const over = new AbortController()
  const { signal } = over
  try {
    return await Promise.race([
      once(child, 'message', { signal }).then(([word]) => word as WorkerWord),
      once(child, 'exit', { signal }).then(([code]) => {
        throw new Error(`The worker ended with exit code ${String(code)}.`)
      }),
    ])
  } finally {
    over.abort()
  }
}

/** Resolves when a condition holds that is asked for again and again. */
export async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await pause(100)
}
