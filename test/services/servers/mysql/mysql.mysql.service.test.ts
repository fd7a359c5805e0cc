import { deepEqual, equal, match, notDeepEqual, ok, rejects } from 'node:assert/strict'
import { lstatSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, it } from 'node:test'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { temporaryFolder } from '../../machine/temporary-folder.ts'
import { processesWithin } from '../started-service.ts'
import { unstableMysqlServer } from './mysql.ts'
import { cachedMysql } from './mysql-release.ts'

describe('the service mysql', () => {
  it('is a MySQL of version 8.0 or newer, as durable as by default', async () => {
    const [row] = await query(
      process.env['MYSQL_URL']!,
      'select version() as version, @@innodb_flush_log_at_trx_commit as flush, @@innodb_doublewrite as doublewrite',
    )
    const { version, ...settings } = row!
    match(String(version), /^([89]|\d\d)\.\d+\.\d+(?!.*MariaDB)/)
    deepEqual(settings, { flush: 1, doublewrite: 'ON' })
  })
})

// If the address of a server is given, this machine may have none to start.
const release = cachedMysql()
const skip = release === undefined && 'MySQL is not on this machine'

describe('a server of mysql', { skip }, () => {
  it('runs from a folder that only this user can change', () => {
    for (const path of [release!.root, dirname(release!.root)]) {
      const { uid, mode } = lstatSync(path)
      equal(uid, process.getuid!())
      equal(mode & 0o022, 0)
    }
  })

  it('comes back after a kill with all committed data, and leaves no process behind', async (test) => {
    const folder = temporaryFolder('server')
    test.after(() => folder.remove())
    const server = await unstableMysqlServer(folder.path)
    test.after(() => server.kill())
    await query(server.url, 'create table kept (value varchar(100))')
    await query(server.url, `insert into kept values ('before the kill')`)
    notDeepEqual(processesWithin(folder.path), [])
    await server.kill()

    deepEqual(processesWithin(folder.path), [])
    await rejects(query(server.url, 'select 1'), { code: 'ECONNREFUSED' })
    await server.start()
    equal((await query(server.url, 'select * from kept')).length, 1)
    ok(server.url.includes(String(server.port)))
  })
})

async function query(url: string, sql: string): Promise<readonly RowDataPacket[]> {
  const connection = await createConnection(url)
  try {
    const [rows] = await connection.query<RowDataPacket[]>(sql)
    return rows
  } finally {
    await connection.end()
  }
}
