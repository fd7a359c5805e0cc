import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { exitOnSignals } from './exit-on-signals.ts'

export interface ProcessGroupOptions {
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
  readonly uid?: number
  readonly gid?: number
}

/** How a process ended: one of the two is set. */
export interface ProcessEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/**
 * A child process and everything it starts, ended together.
 *
 * The child leads a process group of its own, so that its children end with it. Processes that still run when
 * this process exits are killed, also when an otherwise unhandled signal ends it.
 */
export class ProcessGroup {
  /** Settles when the leader has exited; its children may still be running. */
  readonly ended: Promise<ProcessEnd>
  readonly #child: ChildProcess
  readonly #command: string
  readonly #output = new OutputTail()

  constructor(command: string, args: readonly string[], options: ProcessGroupOptions = {}) {
    this.#command = command
    this.#child = spawn(command, args, { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#output.follow(this.#child.stdout!)
    this.#output.follow(this.#child.stderr!)
    this.ended = exitOf(this.#child)
    // A caller that awaits `ended` gets the error of a failed spawn. Without such a caller, the error must
    // not end the run.
    this.ended.catch(() => {})
    rememberGroup(this)
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** The end of the group's output, of stdout and stderr together. */
  get output(): string {
    return this.#output.text
  }

  /** Waits for output that matches. Rejects, with the output so far, if it does not come. */
  async untilOutput(pattern: RegExp, timeoutMs = 60_000): Promise<void> {
    const seen = this.#output.until(pattern).then(() => 'seen' as const)
    const outcome = await within(timeoutMs, Promise.race([seen, this.ended]))
    if (outcome === 'seen') return

    const what =
      outcome === undefined ? `did not print ${pattern} within ${timeoutMs} ms` : describeEnd(outcome)
    throw new Error(`${this.#command} ${what}. Its output:\n${this.output}`)
  }

  /** Asks the group to end with `signal`, and kills the rest of it after `graceMs`. */
  async stop(signal: NodeJS.Signals = 'SIGTERM', graceMs = 5_000): Promise<void> {
    if (this.signal(signal)) await within(graceMs, this.ended).catch(() => {})
    this.signal('SIGKILL')
    await this.ended.catch(() => {})
    // Until the pipes close, the last lines of output may still be on their way.
    await within(1_000, this.#output.closed())
    forgetGroup(this)
  }

  /** Sends a signal to the whole group; returns false if none of it is left. */
  signal(signal: NodeJS.Signals): boolean {
    if (this.pid === undefined) return false
    try {
      return process.kill(-this.pid, signal)
    } catch {
      return false
    }
  }
}

/** Returns a text such as "ended with exit code 1" or "was killed by SIGKILL". */
export function describeEnd({ code, signal }: ProcessEnd): string {
  return signal === null ? `ended with exit code ${code}` : `was killed by ${signal}`
}

function exitOf(child: ChildProcess): Promise<ProcessEnd> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
}

/** Keeps the end of a stream of output: enough to explain a failure, never more than that. */
class OutputTail {
  static readonly #limit = 65_536
  readonly #closed: Promise<unknown>[] = []
  readonly #watchers = new Set<() => void>()
  text = ''

  follow(stream: Readable): void {
    this.#closed.push(new Promise((resolve) => stream.once('close', resolve)))
    stream.setEncoding('utf8')
    stream.on('data', (chunk: string) => {
      this.text = (this.text + chunk).slice(-OutputTail.#limit)
      for (const look of this.#watchers) look()
    })
  }

  until(pattern: RegExp): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!pattern.test(this.text)) return
        this.#watchers.delete(look)
        resolve()
      }
      this.#watchers.add(look)
      look()
    })
  }

  async closed(): Promise<void> {
    await Promise.all(this.#closed)
  }
}

/** Resolves as the promise does, or with undefined if that takes longer than `ms`. */
export async function within<Result>(ms: number, promise: Promise<Result>): Promise<Result | undefined> {
  const timer = new AbortController()
  const late = setTimeout(ms, undefined, { signal: timer.signal }).catch(() => undefined)
  try {
    return await Promise.race([promise, late])
  } finally {
    timer.abort()
  }
}

const running = new Set<ProcessGroup>()

function rememberGroup(group: ProcessGroup): void {
  // First at exit: the group must not write to files that other exit handlers remove.
  if (running.size === 0) process.prependListener('exit', killRunningGroups)
  exitOnSignals()
  running.add(group)
}

function forgetGroup(group: ProcessGroup): void {
  running.delete(group)
  if (running.size === 0) process.off('exit', killRunningGroups)
}

function killRunningGroups(): void {
  for (const group of running) group.signal('SIGKILL')
}
