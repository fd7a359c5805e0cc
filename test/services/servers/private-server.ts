import { ProcessGroup, type ProcessGroupOptions, within } from '../processes/process-group.ts'

export interface PrivateServerOptions extends ProcessGroupOptions {
  readonly port: number
  readonly url: string
  readonly command: string
  readonly args: readonly string[]
  /** Output of a server that is ready for requests. */
  readonly readyOutput: RegExp
  /** Resolves when the other conditions of a ready server are met. */
  readonly untilReady?: () => Promise<void>
}

/**
 * A server on the loopback address for tests that bring it down and up again: it keeps its port and its data.
 *
 * It ends with this process at the latest. It does not remove its folder.
 */
export class PrivateServer {
  readonly #options: PrivateServerOptions
  #group: ProcessGroup | undefined

  /** Does not start the server yet. */
  constructor(options: PrivateServerOptions) {
    this.#options = options
  }

  get port(): number {
    return this.#options.port
  }

  get url(): string {
    return this.#options.url
  }

  /** Resolves once it replies and its data is loaded. */
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

  /**
   * Stops it orderly, and cuts off its clients. Resolves when it has ended. Does nothing while it is down.
   */
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

  /** Stops it from replying while its connections stay open, until `resume`. */
  freeze(): void {
    this.#group?.signal('SIGSTOP')
  }

  resume(): void {
    this.#group?.signal('SIGCONT')
  }
}
