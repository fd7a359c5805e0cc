import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export type ProcessState = 'starting' | 'up' | 'stopping' | 'stopped' | 'killed'

export interface DemoProcessOptions {
  readonly name: string
  /** A file beside this one; it gets the folder and the name as arguments. */
  readonly script: string
  readonly folder: string
  readonly onMessage?: (message: unknown) => void
  /** Called for a line on standard error: a warning of the library, or the reason for a crash. */
  readonly onComplaint: (line: string) => void
  /** Called when the process ends without being asked to. */
  readonly onCrash: (error: Error) => void
}

/** One of the demo's processes, from its start to its end. */
export class DemoProcess {
  readonly name: string
  readonly #child: ChildProcess
  readonly #ended: Promise<unknown>
  #state: ProcessState = 'starting'

  constructor(options: DemoProcessOptions) {
    const { name, script, folder } = options
    this.name = name
    this.#child = fork(join(import.meta.dirname, script), [folder, name], {
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    })
    this.#ended = once(this.#child, 'exit')
    this.#child.on('message', (message) => {
      if (message === 'ready' && this.#state === 'starting') this.#state = 'up'
      options.onMessage?.(message)
    })
    this.#child.on('exit', (code, signal) => {
      if (this.#state === 'stopping' && code === 0) this.#state = 'stopped'
      else if (this.#state !== 'killed')
        options.onCrash(new Error(`${name} ended unexpectedly (${signal ?? `exit code ${code}`}).`))
    })
    createInterface({ input: this.#child.stderr! }).on('line', options.onComplaint)
  }

  get state(): ProcessState {
    return this.#state
  }

  /** Asks the process to finish its work, and waits until it has, or until `signal` aborts. */
  async stop(signal: AbortSignal): Promise<void> {
    const ended = once(this.#child, 'exit', { signal })
    this.#state = 'stopping'
    this.#child.kill('SIGTERM')
    await ended
  }

  /** Kills the process, without a chance to clean up. */
  async kill(): Promise<void> {
    if (this.#state === 'stopped') return
    this.#state = 'killed'
    if (this.#child.kill('SIGKILL')) await this.#ended
  }
}
