import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ProcessGroup, type ProcessGroupOptions, within } from '../../processes/process-group.ts'
import { runCommand } from '../../processes/run-command.ts'
import { stablePort } from '../../machine/stable-port.ts'
import { giveTo, unprivilegedUser } from '../../machine/unprivileged-user.ts'

export interface PostgresServerOptions {
  /** Folder of `initdb` and `postgres`. */
  readonly binFolder: string
  /** An existing folder, in which the data folder is created. */
  readonly folder: string
  /** They go before those of every test server. */
  readonly settings?: Readonly<Record<string, string>>
}

/** Creates a database cluster and starts its server. */
export async function postgresServer(options: PostgresServerOptions): Promise<PostgresServer> {
  const { binFolder, folder } = options
  const user = unprivilegedUser('postgres')
  giveTo(user, folder)

  const processOptions = { ...user, cwd: folder }
  const dataFolder = join(folder, 'data')
  await runCommand(join(binFolder, 'initdb'), initdbArguments(dataFolder), processOptions)

  return startedServer(options)
}

/** Starts a server on the data folder in `folder`, as the user that owns it. */
export async function startedServer(options: PostgresServerOptions): Promise<PostgresServer> {
  const { binFolder, folder, settings = {} } = options
  const port = await stablePort()
  const args = postgresArguments(join(folder, 'data'), port, settings)
  const processOptions = { ...unprivilegedUser('postgres'), cwd: folder }
  const server = new PostgresServer(port, join(binFolder, 'postgres'), args, processOptions)
  await server.start()
  return server
}

/**
 * How a running server is brought down. `fast` is orderly and cuts off its clients; after `immediate` it has
 * to recover.
 */
export type StopMode = 'fast' | 'immediate'

const stopSignals = { fast: 'SIGINT', immediate: 'SIGQUIT' } as const

/**
 * A private PostgreSQL on the loopback address, for tests that bring it down and up again: it keeps its port
 * and its data. Every client may connect. Settings are durable, as by default.
 *
 * It ends with this process at the latest. It does not remove its folder.
 */
export class PostgresServer {
  readonly port: number
  readonly #command: string
  readonly #args: readonly string[]
  readonly #options: ProcessGroupOptions
  #group: ProcessGroup | undefined

  /** Takes an existing cluster; `postgresServer` creates one. */
  constructor(port: number, command: string, args: readonly string[], options: ProcessGroupOptions) {
    this.port = port
    this.#command = command
    this.#args = args
    this.#options = options
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`
  }

  /** Resolves once it replies. After a disorderly stop it recovers first. */
  async start(): Promise<void> {
    if (this.#group) throw new Error('The server runs already. Stop it first.')

    const group = new ProcessGroup(this.#command, this.#args, this.#options)
    this.#group = group
    // Before the group itself is killed, because its children are unknown after that.
    process.prependListener('exit', this.#killProcesses)
    try {
      await group.untilOutput(/database system is ready to accept (?:read-only )?connections/)
    } catch (error) {
      await this.stop('immediate')
      throw error
    }
  }

  /** Resolves when none of its processes is left. Does nothing while it is down. */
  async stop(mode: StopMode = 'fast'): Promise<void> {
    if (this.#group?.signal(stopSignals[mode])) await within(60_000, this.#group.ended)
    await this.kill()
  }

  async restart(mode: StopMode = 'fast'): Promise<void> {
    await this.stop(mode)
    await this.start()
  }

  /** Kills all of its processes, as when the machine goes down. Resolves when none is left. */
  async kill(): Promise<void> {
    this.#killProcesses()
    await this.#group?.stop('SIGKILL')
    this.#group = undefined
    process.off('exit', this.#killProcesses)
  }

  // Its children have process groups of their own, and a busy one does not notice that it is alone.
  readonly #killProcesses = (): void => {
    if (!this.#group?.signal('SIGSTOP')) return
    childrenOf(this.#group.pid!).forEach(killProcess)
    this.#group.signal('SIGKILL')
  }
}

function initdbArguments(dataFolder: string): readonly string[] {
  return [
    `--pgdata=${dataFolder}`,
    '--username=postgres',
    '--auth=trust',
    '--encoding=UTF8',
    // Sorts in natural order, like most databases in use, so that code that needs byte order has to ask for
    // it.
    '--locale=C',
    '--locale-provider=icu',
    '--icu-locale=en',
    // The cluster is new: if the machine goes down now, nothing is lost.
    '--no-sync',
    '--no-instructions',
  ]
}

function postgresArguments(
  dataFolder: string,
  port: number,
  settings: Readonly<Record<string, string>>,
): readonly string[] {
  const all = {
    listen_addresses: '127.0.0.1',
    port,
    // The path of a socket must not be longer than about a hundred characters; temporary folders can be.
    unix_socket_directories: '',
    max_connections: 200,
    shared_buffers: '256MB',
    wal_level: 'logical',
    // In files of the data folder, so that a killed server leaves nothing elsewhere.
    dynamic_shared_memory_type: 'mmap',
    ...settings,
  }
  return ['-D', dataFolder, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}

// If the system does not list them, most of them notice on their own that their parent is gone.
function childrenOf(pid: number): readonly number[] {
  const list = `/proc/${pid}/task/${pid}/children`
  return existsSync(list) ? readFileSync(list, 'utf8').trim().split(/\s+/).filter(Boolean).map(Number) : []
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended on its own.
  }
}
