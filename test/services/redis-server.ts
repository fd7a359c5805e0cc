import { findProgram } from './find-program.ts'
import { ProcessGroup, within } from './process-group.ts'
import { stablePort } from './stable-port.ts'

export interface RedisServerOptions {
  /** Exists; the data is kept in it. */
  readonly folder: string
  /** `everyWrite` is on disk before it is answered; `none` keeps nothing. */
  readonly persistence: 'everyWrite' | 'none'
  /** Further settings, as in `{ maxmemory: '4mb' }`. */
  readonly settings?: Readonly<Record<string, string>>
}

/** Starts a server of one's own. */
export async function redisServer(options: RedisServerOptions): Promise<RedisServer> {
  const server = new RedisServer(await stablePort(), options)
  await server.start()
  return server
}

/**
 * A private Redis on the loopback address, for tests that bring it down and up again: it keeps its
 * port, and its data as far as its persistence promises.
 *
 * It ends with this process at the latest. Its folder is not its own to remove.
 */
export class RedisServer {
  readonly port: number
  readonly #options: RedisServerOptions
  #group: ProcessGroup | undefined

  constructor(port: number, options: RedisServerOptions) {
    this.port = port
    this.#options = options
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** Resolves once it answers, its data loaded. */
  async start(): Promise<void> {
    if (this.#group) throw new Error('The server runs already. Stop it first.')
    const program = findProgram('redis-server')
    if (program === undefined) throw new Error("There is no Redis here. Install Debian's redis-server.")

    const group = new ProcessGroup(program, this.#arguments(), { cwd: this.#options.folder })
    this.#group = group
    try {
      await group.untilOutput(/Ready to accept connections/)
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

  #arguments(): readonly string[] {
    const { folder, persistence, settings = {} } = this.#options
    const all = {
      port: String(this.port),
      bind: '127.0.0.1',
      dir: folder,
      save: '',
      appendonly: persistence === 'none' ? 'no' : 'yes',
      appendfsync: 'always',
      ...settings,
    }
    return Object.entries(all).flatMap(([name, value]) => [`--${name}`, value])
  }
}
