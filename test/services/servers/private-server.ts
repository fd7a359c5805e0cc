import { ProcessGroup, type ProcessGroupOptions, within } from '../processes/process-group.ts'

export interface PrivateServerOptions extends ProcessGroupOptions {
  readonly port: number
  readonly url: string
  readonly command: string
  readonly args: readonly string[]
  /** What it prints when it answers. */
  readonly readyOutput: RegExp
  /** What else has to be the case before it counts as up. */
  readonly untilReady?: () => Promise<void>
}

/**
 * A server on the loopback address for tests that bring it down and up again: it keeps its port and its data.
 *
 * It ends with this process at the latest. Its folder is not its own to remove.
 */
export class PrivateServer {
  readonly #options: PrivateServerOptions
  #group: ProcessGroup | undefined

  /** Not started yet. */
  constructor(options: PrivateServerOptions) {
    this.#options = options
  }

  get port(): number {
    return this.#options.port
  }

  get url(): string {
    return this.#options.url
  }

  /** Resolves once it answers, its data loaded. */
  async start(): Promise<void> {
    if (this.#group) throw new Error('The server runs already. Stop it first.')

    const { command, args, readyOutput, untilReady } = this.#options
    const group = new ProcessGroup(command, args, this.#options)
    this.#group = group
    try {
      await group.untilOutput(readyOutput)
      await untilReady?.()
    } catch (error) {
      await this.kill()
      throw error
    }
  }

  /** Stops it orderly, its clients cut off. Resolves when it has ended. Does nothing while it is down. */
  async stop(): Promise<void> {
    if (this.#group?.signal('SIGTERM')) await within(60_000, this.#group.ended)
    await this.kill()
  }

  async restart(): Promise<void> {
    await this.stop()
    await this.start()
  }

  /** Kills it, as when the machine goes down. */
  async kill(): Promise<void> {
    await this.#group?.stop('SIGKILL')
    this.#group = undefined
  }

  /** Stops it from answering while its connections stay open; `resume` lets it go on. */
  freeze(): void {
    this.#group?.signal('SIGSTOP')
  }

  resume(): void {
    this.#group?.signal('SIGCONT')
  }
}
