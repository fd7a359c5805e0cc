import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ProcessGroup, type ProcessGroupOptions, within } from '../../processes/process-group.ts'
import { runCommand } from '../../processes/run-command.ts'
import { stablePort } from '../../machine/stable-port.ts'
import { giveTo, unprivilegedUser } from '../../machine/unprivileged-user.ts'

export interface PostgresServerOptions {
  /** Where `initdb` and `postgres` are. */
  readonly binFolder: string
  /** Exists; the data folder is made in it. */
  readonly folder: string
}

/** Makes a new database cluster and starts its server. */
export async function postgresServer({ binFolder, folder }: PostgresServerOptions): Promise<PostgresServer> {
  const user = unprivilegedUser('postgres')
  giveTo(user, folder)

  const processOptions = { ...user, cwd: folder }
  const dataFolder = join(folder, 'data')
  await runCommand(join(binFolder, 'initdb'), initdbArguments(dataFolder), processOptions)

  const port = await stablePort()
  const args = postgresArguments(dataFolder, port)
  const server = new PostgresServer(port, join(binFolder, 'postgres'), args, processOptions)
  await server.start()
  return server
}

/** How a running server is brought down: orderly, its clients cut off; or at once, to recover later. */
export type StopMode = 'fast' | 'immediate'

const stopSignals = { fast: 'SIGINT', immediate: 'SIGQUIT' } as const

/**
 * A private PostgreSQL on the loopback address, for tests that bring it down and up again: it keeps
 * its port and its data. Whoever connects is let in. Settings are durable, as by default.
 *
 * It ends with this process at the latest. Its folder is not its own to remove.
 */
export class PostgresServer {
  readonly port: number
  readonly #command: string
  readonly #args: readonly string[]
  readonly #options: ProcessGroupOptions
  #group: ProcessGroup | undefined

  /** Of a cluster that exists; `postgresServer` makes one. */
  constructor(port: number, command: string, args: readonly string[], options: ProcessGroupOptions) {
    this.port = port
    this.#command = command
    this.#args = args
    this.#options = options
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`
  }

  /** Resolves once it answers, which is after it has recovered where it was not stopped orderly. */
  async start(): Promise<void> {
    if (this.#group) throw new Error('The server runs already. Stop it first.')

    const group = new ProcessGroup(this.#command, this.#args, this.#options)
    this.#group = group
    // Before the group itself is killed, after which nobody knows its children any more.
    process.prependListener('exit', this.#killProcesses)
    try {
      await group.untilOutput(/database system is ready to accept connections/)
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
    // Sorts as people do, like most databases out there: what needs byte order has to ask for it.
    '--locale=C',
    '--locale-provider=icu',
    '--icu-locale=en',
    // The cluster is new: if the machine goes down now, nothing is lost.
    '--no-sync',
    '--no-instructions',
  ]
}

function postgresArguments(dataFolder: string, port: number): readonly string[] {
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    // The path of a socket must not be longer than some hundred characters; temporary folders can be.
    unix_socket_directories: '',
    max_connections: 200,
    shared_buffers: '256MB',
    wal_level: 'logical',
    // In files of the data folder, so that a killed server leaves nothing elsewhere.
    dynamic_shared_memory_type: 'mmap',
  }
  return [
    '-D',
    dataFolder,
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]
}

// Where the system does not tell, most of them find out by themselves that their parent is gone.
function childrenOf(pid: number): readonly number[] {
  const list = `/proc/${pid}/task/${pid}/children`
  return existsSync(list) ? readFileSync(list, 'utf8').trim().split(/\s+/).filter(Boolean).map(Number) : []
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}
