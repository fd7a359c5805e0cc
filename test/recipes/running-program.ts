import { equal, ok } from 'node:assert/strict'
import { ProcessGroup, type ProcessGroupOptions, within } from '../services/processes/process-group.ts'

// The default of `terminationGracePeriodSeconds`.
const killedAfterMs = 30_000

/** A program of a recipe in a process of its own, from its first line of output to SIGTERM. */
export class RunningProgram {
  readonly #group: ProcessGroup

  private constructor(group: ProcessGroup) {
    this.#group = group
  }

  /** Starts a program, and waits for the line that says it is ready. */
  static async start(
    command: readonly string[],
    ready: RegExp,
    options: ProcessGroupOptions = {},
  ): Promise<RunningProgram> {
    const [program, ...args] = command
    const group = new ProcessGroup(program!, args, {
      ...options,
      env: { ...process.env, NODE_TEST_CONTEXT: undefined, NO_COLOR: '1', ...options.env },
    })
    try {
      await group.untilOutput(ready)
    } catch (error) {
      await group.stop('SIGKILL')
      throw error
    }
    return new RunningProgram(group)
  }

  get output(): string {
    return this.#group.output
  }

  get pid(): number {
    return this.#group.pid!
  }

  /** Waits for output that matches, and returns what the pattern captures. */
  async said(pattern: RegExp): Promise<string> {
    await this.#group.untilOutput(pattern)
    return pattern.exec(this.#group.output)![1] ?? ''
  }

  /** Waits for the next line of output. Rejects if the program ends before it. */
  async more(): Promise<void> {
    const { length } = this.output.split('\n')
    await this.#group.untilOutput(new RegExp(`^(.*\n){${length}}`))
  }

  signal(signal: NodeJS.Signals): void {
    this.#group.signal(signal)
  }

  /** Sends SIGTERM, and expects that the program ends by itself with exit code 0. */
  async end(): Promise<void> {
    const code = await this.endCode()
    equal(code, 0, `The program ended with exit code ${code}. Its output:\n${this.output}`)
  }

  /** Sends SIGTERM, expects that the program ends before Kubernetes would kill it, and returns its exit code. */
  async endCode(): Promise<number | null> {
    this.#group.signal('SIGTERM')
    const end = await within(killedAfterMs, this.#group.ended)
    await this.#group.stop('SIGKILL')
    ok(end, `The program did not end within ${killedAfterMs} ms. Its output:\n${this.output}`)
    return end.code
  }

  /** Kills what is left of the program. For the end of a test that failed. */
  async kill(): Promise<void> {
    await this.#group.stop('SIGKILL')
  }
}
