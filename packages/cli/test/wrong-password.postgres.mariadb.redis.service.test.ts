import { doesNotMatch, equal, match } from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { createConnection } from 'mysql2/promise'
import pg from 'pg'
import { temporaryFolder } from '../../../test/services/machine/temporary-folder.ts'
import { debianPostgresServer } from '../../../test/services/servers/postgres/postgres.ts'
import { sendoff } from './run-sendoff.ts'

const user = `cli_user_${process.pid}`

describe('a wrong password', () => {
  it('is refused by PostgreSQL, and not printed', async (test) => {
    const folder = temporaryFolder('cli-password')
    const server = await debianPostgresServer(folder.path)
    test.after(async () => {
      await server.stop('immediate')
      folder.remove()
    })
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    await client.query(`create role ${user} login password 'right'`)
    const file = (await client.query<{ hba_file: string }>('show hba_file')).rows[0]!.hba_file
    writeFileSync(file, `host all ${user} all scram-sha-256\n${readFileSync(file, 'utf8')}`)
    await client.query('select pg_reload_conf()')
    await client.end()
    await isRefused(server.url, /password authentication failed for user/)
  })

  it('is refused by MariaDB, and not printed', async (test) => {
    const connection = await createConnection(process.env['MARIADB_URL']!)
    await connection.query(`create user '${user}'@'%' identified by 'right'`)
    test.after(async () => {
      await connection.query(`drop user '${user}'@'%'`)
      await connection.end()
    })
    await isRefused(process.env['MARIADB_URL']!, /Access denied for user/)
  })

  it('is refused by Redis, and not printed', async (test) => {
    const client = new Redis(process.env['REDIS_URL']!)
    await client.call('ACL', 'SETUSER', user, 'on', '>right', '+@all', '~*')
    test.after(async () => {
      await client.call('ACL', 'DELUSER', user)
      await client.quit()
    })
    await isRefused(process.env['REDIS_URL']!, /WRONGPASS/)
  })
})

async function isRefused(address: string, reason: RegExp): Promise<void> {
  const url = new URL(address)
  url.username = user
  url.password = 'ge/heim-17'
  const { code, stdout, stderr } = await sendoff(['status', '--url', url.href])
  equal(code, 3, stderr)
  match(stderr, reason)
  doesNotMatch(stdout + stderr, /heim/)
}
