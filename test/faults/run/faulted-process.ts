import { setTimeout as delay } from 'node:timers/promises'
import { describeEnd, type ProcessEnd, ProcessGroup, within } from '../../services/processes/process-group.ts'
import { type TemporaryFolder, temporaryFolder } from '../../services/machine/temporary-folder.ts'
import type { HistoryFile } from '../history/history-file.ts'

export interface FaultedProcessOptions {
  readonly slot: string
  readonly history: HistoryFile
  /** Returns the command line of the next process of this slot, given its name. */
  readonly command: (name: string) => readonly string[]
  /** Variables for its processes, in addition to ours. */
  readonly environment: NodeJS.ProcessEnv
  /** How long it may take to end when it is asked to, in ms. */
  readonly endLimitMs: number
  /** Whether an unrequested death is part of the plan. */
  readonly mayDie: (name: string) => boolean
}

/** A slot of a run. It holds one process, until that is harmed and the next one takes the slot. */
export class FaultedProcess {
  readonly #options: FaultedProcessOptions
  #group: ProcessGroup | undefined
  #name = ''
  #starts = 0
  #ready: Promise<unknown> = Promise.resolve()
  #doomed = false
  #busy = false
  #over = false

  constructor(options: FaultedProcessOptions) {
    this.#options = options
  }

  get slot(): string {
    return this.#options.slot
  }

  /** The name of the slot's current process. */
  get name(): string {
    return this.#name
  }

  /** Whether no harm is being done to it at the moment. */
  get isWell(): boolean {
    return !this.#busy && this.#group !== undefined
  }

  async start(): Promise<void> {
    const { slot, command, environment } = this.#options
    this.#name = `${slot}.${++this.#starts}`
    this.#doomed = false
    const name = this.#name
    const group = new ProcessGroup(process.execPath, command(name), {
      env: { ...process.env, NODE_COMPILE_CACHE: compiledCode(), ...environment },
    })
    this.#group = group
    void group.ended.then((end) => this.#ended(name, group, end))
    this.#ready = Promise.race([group.untilOutput(/^ready$/m, 30_000).catch(() => {}), group.ended])
    await this.#ready
  }

  async kill(awayMs: number): Promise<void> {
    await this.#harm(async (group) => {
      this.#doomed = true
      group.signal('SIGKILL')
      this.#say('kill')
      await group.ended
      await delay(awayMs)
      if (!this.#over) await this.start()
    })
  }

  async stopFor(ms: number): Promise<void> {
    await this.#harm(async (group) => {
      const name = this.#name
      this.#say('stop', name)
      group.signal('SIGSTOP')
      await delay(ms)
      group.signal('SIGCONT')
      this.#say('cont', name)
    })
  }

  /** Restarts it as a deployment does: asks it to end, and starts the next one. */
  async restart(): Promise<void> {
    await this.#harm(async (group) => {
      this.#say('restart')
      await this.#end(group)
      if (!this.#over) await this.start()
    })
  }

  /** Asks it to end for good. */
  async end(): Promise<void> {
    this.#over = true
    while (this.#busy) await delay(20)
    if (this.#group !== undefined) await this.#end(this.#group)
  }

  /** Ends it at once, whatever it does. */
  async destroy(): Promise<void> {
    this.#over = true
    this.#doomed = true
    await this.#group?.stop('SIGKILL')
  }

  async #harm(work: (group: ProcessGroup) => Promise<void>): Promise<void> {
    const group = this.#group
    if (group === undefined || this.#busy) return
    this.#busy = true
    try {
      await work(group)
      // It may have ended on its own at the same time.
      while (this.#group === undefined && !this.#over) await this.start()
    } finally {
      this.#busy = false
    }
  }

  async #end(group: ProcessGroup): Promise<void> {
    const name = this.#name
    // Before that it cannot react to the request to end.
    await this.#ready
    this.#doomed = true
    group.signal('SIGTERM')
    const end = await within(this.#options.endLimitMs, group.ended)
    // A process that is ending on its own no longer handles signals, so a signal ends it.
    if (end?.code === 0 || end?.signal === 'SIGTERM' || this.#options.mayDie(name)) return
    await group.stop('SIGKILL')
    if (end === undefined) this.#options.history.say({ kind: 'stuck', target: name })
    else throw new Error(`${name} was asked to end and ${describeEnd(end)}. Its output:\n${group.output}`)
  }

  #ended(name: string, group: ProcessGroup, { code, signal }: ProcessEnd): void {
    const { history, mayDie } = this.#options
    const suicide = !this.#doomed && mayDie(name)
    const expected = this.#doomed || code === 0 || suicide
    const output = expected ? {} : { output: group.output }
    history.say({ kind: 'exit', target: name, code, signal, expected, ...output })
    if (this.#group === group) this.#group = undefined
    void group.stop('SIGKILL', 0)
    // While harm is being done, that code starts the next one.
    if (suicide && !this.#over && !this.#busy) void this.start()
  }

  #say(fault: 'kill' | 'stop' | 'cont' | 'restart', target: string = this.#name): void {
    this.#options.history.say({ kind: 'fault', fault, target })
  }
}

let compiled: TemporaryFolder | undefined

// A process spends most of its start on compiling, and runs start many processes.
function compiledCode(): string {
  const ofTheRun = process.env['NODE_COMPILE_CACHE']
  if (ofTheRun !== undefined) return ofTheRun
  compiled ??= temporaryFolder('compiled')
  return compiled.path
}
