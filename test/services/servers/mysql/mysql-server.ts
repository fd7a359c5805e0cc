import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stablePort } from '../../machine/stable-port.ts'
import { giveTo, unprivilegedUser } from '../../machine/unprivileged-user.ts'
import { runCommand } from '../../processes/run-command.ts'
import { MariadbServer } from '../mariadb/mariadb-server.ts'
import type { MysqlRelease } from './mysql-release.ts'

export interface MysqlServerOptions {
  readonly release: MysqlRelease
  /** An existing folder, in which the data folder is created. */
  readonly folder: string
  /** Settings of the server beside or instead of the usual ones. */
  readonly settings?: Readonly<Record<string, string | number>>
}

/**
 * Creates a data folder and starts its server on the loopback address. It starts, stops and fails like
 * MariaDB, and has an address of the same form.
 */
export async function mysqlServer({
  release,
  folder,
  settings = {},
}: MysqlServerOptions): Promise<MariadbServer> {
  const user = unprivilegedUser('mysql')
  giveTo(user, folder)
  const options = { ...user, cwd: folder }
  const [command, ...program] = commandOf(release)
  const common = { ...placesOf(release), datadir: join(folder, 'data'), tmpdir: folder }
  // The data is new: if the machine goes down now, nothing is lost.
  const careless = { 'innodb-flush-method': 'nosync', 'innodb-flush-log-at-trx-commit': 0 }
  // This one is fixed with the data.
  const names = settings['lower-case-table-names']
  const fixed = names === undefined ? {} : { 'lower-case-table-names': names }
  const initialize = [
    ...program,
    ...argumentsOf({ ...common, ...careless, ...fixed }),
    '--initialize-insecure',
  ]
  await runCommand(command, initialize, options)

  const firstStatements = join(folder, 'first-statements.sql')
  writeFileSync(firstStatements, statements.join(';\n') + ';\n')
  giveTo(user, firstStatements)
  const port = await stablePort()
  const all = {
    ...common,
    port,
    'bind-address': '127.0.0.1',
    // Within the data folder. The path of a socket must not be longer than about a hundred characters.
    socket: 'mysql.sock',
    'pid-file': 'mysql.pid',
    mysqlx: 'OFF',
    // Debian's own folder for exports does not exist here.
    'secure-file-priv': 'NULL',
    'init-file': firstStatements,
    'max-connections': 200,
    'innodb-buffer-pool-size': '256M',
    // A zone that is neither the machine's nor UTC, so that tests find code that depends on it.
    'default-time-zone': '+05:45',
    ...settings,
  }
  const args = [...program, ...argumentsOf(all), '--skip-name-resolve']
  const server = new MariadbServer(port, command, args, options)
  await server.start()
  return server
}

// Names are not resolved, so that `localhost` is not this address.
const statements = [
  `create user if not exists root@'127.0.0.1'`,
  `grant all on *.* to root@'127.0.0.1' with grant option`,
  'create database if not exists test',
]

// The folder's own loader finds its libraries, which are newer than those of the machine.
function commandOf({ root }: MysqlRelease): readonly [string, ...string[]] {
  const libraries = readdirSync(join(root, 'usr/lib')).map((name) => join(root, 'usr/lib', name))
  for (const folder of libraries) {
    const loader = readdirSync(folder).find((name) => /^ld-linux.*\.so\.\d+$/.test(name))
    if (loader === undefined) continue
    return [join(folder, loader), '--library-path', folder, join(root, 'usr/sbin/mysqld')]
  }
  throw new Error(`There is no loader of programs in ${root}.`)
}

function placesOf({ root }: MysqlRelease): Readonly<Record<string, string>> {
  return {
    basedir: join(root, 'usr'),
    'lc-messages-dir': join(root, 'usr/share/mysql'),
    'character-sets-dir': join(root, 'usr/share/mysql/charsets'),
    'plugin-dir': join(root, 'usr/lib/mysql/plugin'),
  }
}

function argumentsOf(settings: Readonly<Record<string, string | number>>): readonly string[] {
  return ['--no-defaults', ...Object.entries(settings).map(([name, value]) => `--${name}=${value}`)]
}
