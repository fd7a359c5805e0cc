import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installDebianPackages } from '../../machine/debian-packages.ts'
import { findProgram } from '../../machine/find-program.ts'
import { debianPostgresServer, postgres } from './postgres.ts'
import { ProcessGroup } from '../../processes/process-group.ts'
import type { Service } from '../../service.ts'
import { stablePort } from '../../machine/stable-port.ts'
import { giveTo, unprivilegedUser } from '../../machine/unprivileged-user.ts'

/**
 * PgBouncer in transaction mode, in front of a PostgreSQL of its own. Its database `session` is the same one in
 * session mode.
 */
export const pgbouncer: Service = {
  name: 'pgbouncer',
  urlVariable: 'PGBOUNCER_URL',

  async find() {
    return findProgram('pgbouncer') !== undefined && (await postgres.find())
  },

  install: () => installDebianPackages('pgbouncer', 'postgresql'),

  async start(folder) {
    const user = unprivilegedUser('postgres')
    giveTo(user, folder)

    const serverFolder = join(folder, 'postgres')
    mkdirSync(serverFolder)
    const server = await debianPostgresServer(serverFolder)

    const port = await stablePort()
    giveTo(user, ...writeConfiguration(folder, port, server.port))
    const group = new ProcessGroup(findProgram('pgbouncer')!, ['pgbouncer.ini'], { ...user, cwd: folder })
    await group.untilOutput(/process up/)

    return {
      url: `postgres://postgres@127.0.0.1:${port}/postgres`,
      async stop() {
        // It stores nothing, so a kill loses nothing.
        await group.stop('SIGKILL')
        await server.stop('immediate')
      },
    }
  },
}

/** Returns the paths of the files that it wrote. */
function writeConfiguration(folder: string, port: number, serverPort: number): readonly string[] {
  const usersFile = join(folder, 'users.txt')
  const mainFile = join(folder, 'pgbouncer.ini')
  writeFileSync(usersFile, '"postgres" ""\n')
  writeFileSync(
    mainFile,
    `[databases]
session = host=127.0.0.1 port=${serverPort} dbname=postgres pool_mode=session pool_size=60
* = host=127.0.0.1 port=${serverPort}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${usersFile}
admin_users = postgres
pool_mode = transaction
max_client_conn = 1000
; Fewer than the clients of a busy test: then they do share.
default_pool_size = 20
ignore_startup_parameters = extra_float_digits
`,
  )
  return [usersFile, mainFile]
}
