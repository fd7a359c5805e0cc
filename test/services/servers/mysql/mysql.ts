import type { Service } from '../../service.ts'
import type { MariadbServer } from '../mariadb/mariadb-server.ts'
import { cachedMysql, fetchMysql } from './mysql-release.ts'
import { mysqlServer, type MysqlServerOptions } from './mysql-server.ts'

/** MySQL from Debian's unstable suite, which may have none one day. It is not installed. */
export const mysql: Service = {
  name: 'mysql',
  urlVariable: 'MYSQL_URL',
  extra: true,

  async find() {
    // Fetching needs no rights, unlike installing.
    if (cachedMysql() === undefined) await fetchMysql()
    return true
  },

  async start(folder) {
    const server = await unstableMysqlServer(folder)
    // Killed, because its data is no longer needed.
    return { url: server.url, version: cachedMysql()!.version, stop: () => server.kill() }
  },
}

/** Starts a private server, with its data in `folder`, for tests that harm it. */
export async function unstableMysqlServer(
  folder: string,
  settings?: MysqlServerOptions['settings'],
): Promise<MariadbServer> {
  const release = cachedMysql()
  if (release === undefined) throw new Error('There is no MySQL here. Run a test that needs mysql first.')
  return mysqlServer({ release, folder, ...(settings && { settings }) })
}
