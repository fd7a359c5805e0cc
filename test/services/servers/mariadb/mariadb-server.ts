import { join } from 'node:path'
import { ProcessGroup, type ProcessGroupOptions, within } from '../../processes/process-group.ts'
import { runCommand } from '../../processes/run-command.ts'
import { stablePort } from '../../machine/stable-port.ts'
import { giveTo, unprivilegedUser } from '../../machine/unprivileged-user.ts'

export interface MariadbServerOptions {
  /** Paths of `mariadb-install-db` and `mariadbd`. */
  readonly installer: string
  readonly program: string
  /** An existing folder, in which the data folder is created. */
  readonly folder: string
  /** Settings of the server beside or instead of the usual ones. */
  readonly settings?: Readonly<Record<string, string | number>>
}

/** Creates a data folder and starts its server. */
export async function mariadbServer({
  installer,
  program,
  folder,
  settings = {},
}: MariadbServerOptions): Promise<MariadbServer> {
  const user = unprivilegedUser('mysql')
  giveTo(user, folder)

  const processOptions = { ...user, cwd: folder }
  const dataFolder = join(folder, 'data')
  await runCommand(installer, installArguments(folder, dataFolder), processOptions)

  const port = await stablePort()
  const server = new MariadbServer(
    port,
    program,
    serverArguments(folder, dataFolder, port, settings),
    processOptions,
  )
  await server.start()
  return server
}

/**
 * A private MariaDB on the loopback address, for tests that bring it down and up again: it keeps its port and
 * its data. Every client may connect as root. Settings are durable, as by default.
 *
 * It ends with this process at the latest. It does not remove its folder.
 */
export class MariadbServer {
  readonly port: number
  readonly #command: string
  readonly #args: readonly string[]
  readonly #options: ProcessGroupOptions
  #group: ProcessGroup | undefined

  /** Takes an existing data folder; `mariadbServer` creates one. */
  constructor(port: number, command: string, args: readonly string[], options: ProcessGroupOptions) {
    this.port = port
    this.#command = command
    this.#args = args
    this.#options = options
  }

  get url(): string {
    return `mysql://root@127.0.0.1:${this.port}/test`
  }

  /** Resolves once it replies. After a disorderly stop it recovers first. */
  async start(): Promise<void> {
    if (this.#group) throw new Error('The server runs already. Stop it first.')

    const group = new ProcessGroup(this.#command, this.#args, this.#options)
    this.#group = group
    try {
      await group.untilOutput(/ready for connections/)
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
}

function installArguments(folder: string, dataFolder: string): readonly string[] {
  return [
    '--no-defaults',
    `--datadir=${dataFolder}`,
    // The server's user may not have access to the system's temporary files.
    `--tmpdir=${folder}`,
    '--auth-root-authentication-method=normal',
    // The data is new: if the machine goes down now, nothing is lost.
    '--innodb-flush-method=nosync',
    '--innodb-flush-log-at-trx-commit=0',
  ]
}

function serverArguments(
  folder: string,
  dataFolder: string,
  port: number,
  others: Readonly<Record<string, string | number>>,
): readonly string[] {
  const settings = {
    datadir: dataFolder,
    tmpdir: folder,
    'bind-address': '127.0.0.1',
    port,
    // Within the data folder. The path of a socket must not be longer than about a hundred characters.
    socket: 'mariadb.sock',
    'pid-file': 'mariadb.pid',
    'max-connections': 200,
    'innodb-buffer-pool-size': '256M',
    // A zone that is neither the machine's nor UTC, so that tests find code that depends on it.
    'default-time-zone': '+05:45',
    ...others,
  }
  return [
    '--no-defaults',
    '--skip-name-resolve',
    ...Object.entries(settings).map(([name, value]) => `--${name}=${value}`),
  ]
}
