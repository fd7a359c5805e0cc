import { installDebianPackages } from '../../machine/debian-packages.ts'
import { findProgram } from '../../machine/find-program.ts'
import { type MariadbServer, mariadbServer, type MariadbServerOptions } from './mariadb-server.ts'
import type { Service } from '../../service.ts'
import { isOnMysql } from '../mysql/on-mysql.ts'
import { unstableMysqlServer } from '../mysql/mysql.ts'

/** MariaDB from Debian's packages. */
export const mariadb: Service = {
  name: 'mariadb',
  urlVariable: 'MARIADB_URL',

  async find() {
    return programs() !== undefined
  },

  install: () => installDebianPackages('mariadb-server'),

  async start(folder) {
    const server = await debianMariadbServer(folder)
    // Killed, because its data is no longer needed.
    return { url: server.url, stop: () => server.kill() }
  },
}

/**
 * Starts a private server, with its data in `folder`, for tests that harm it. Tests of MariaDB that run on
 * MySQL get a MySQL.
 */
export async function debianMariadbServer(
  folder: string,
  settings?: MariadbServerOptions['settings'],
): Promise<MariadbServer> {
  if (isOnMysql) return unstableMysqlServer(folder, settings)
  const found = programs()
  if (found === undefined) throw new Error("There is no MariaDB here. Install Debian's mariadb-server.")
  return mariadbServer({ ...found, folder, ...(settings && { settings }) })
}

function programs(): { installer: string; program: string } | undefined {
  const installer = findProgram('mariadb-install-db')
  const program = findProgram('mariadbd')
  return installer === undefined || program === undefined ? undefined : { installer, program }
}
