import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** The program as it is built, or as `packed-program` has installed it. */
export const program = process.env['TESTED_PROGRAM'] ?? join(import.meta.dirname, '../dist/bin.cjs')

/** How a call of the program is made. */
export interface CallOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly node?: string
  readonly program?: string
}

/** The end of a call. */
export interface CallResult {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the program to its end, without a terminal. */
export async function sendoff(args: readonly string[], options: CallOptions = {}): Promise<CallResult> {
  return new RunningCall(args, options).ended
}

/** Runs the program with `--json`, and returns what it printed. Throws unless it ends well. */
export async function sendoffJson<Result = Record<string, unknown>>(
  args: readonly string[],
  options: CallOptions = {},
): Promise<Result> {
  const result = await sendoff([...args, '--json'], options)
  if (result.code === 0) return JSON.parse(result.stdout) as Result
  throw new Error(`sendoff ${args.join(' ')} ended with ${result.code}: ${result.stderr}`)
}

/** A call under way. */
export class RunningCall {
  readonly ended: Promise<CallResult>
  readonly #child: ChildProcess
  #stdout = ''
  #stderr = ''
  readonly #watchers = new Set<() => void>()

  constructor(args: readonly string[], options: CallOptions = {}) {
    const { cwd, env, node = process.execPath, program: file = program } = options
    this.#child = spawn(node, [file, ...args], {
      ...(cwd !== undefined && { cwd }),
      env: { ...outside(), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text
      for (const look of this.#watchers) look()
    })
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text
      for (const look of this.#watchers) look()
    })
    this.ended = once(this.#child, 'close').then(([code, signal]) => ({
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
      stdout: this.#stdout,
      stderr: this.#stderr,
    }))
  }

  get output(): string {
    return `${this.#stdout}${this.#stderr}`
  }

  /** Resolves when the output matches. Rejects if the call ends before. */
  async until(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.output)
      if (found !== null) return found
      const more = new Promise<'more'>((resolve) => {
        const look = () => {
          this.#watchers.delete(look)
          resolve('more')
        }
        this.#watchers.add(look)
      })
      const outcome = await Promise.race([more, this.ended])
      const last = pattern.exec(this.output)
      if (last !== null) return last
      if (outcome !== 'more') throw new Error(`The call ended before ${pattern}: ${this.output}`)
    }
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Closes the reading end of its output, as `head` does. */
  closeOutput(): void {
    this.#child.stdout!.destroy()
  }
}

// Nothing of this machine must reach the program: colours, stores, or the test runner.
function outside(): NodeJS.ProcessEnv {
  const own = /^SENDOFF_|^NODE_TEST_CONTEXT$|^NODE_OPTIONS$|^FORCE_COLOR$|^NO_COLOR$/
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name)))
}
