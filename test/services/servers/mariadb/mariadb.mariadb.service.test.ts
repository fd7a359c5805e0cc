import { deepEqual, equal, match, notDeepEqual, notEqual, rejects } from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import mysql from 'mysql2/promise'
import { debianMariadbServer, mariadb } from './mariadb.ts'
import type { MariadbServer } from './mariadb-server.ts'
import { canRunHere, processesWithin, StartedService } from '../started-service.ts'
import { type TemporaryFolder, temporaryFolder } from '../../machine/temporary-folder.ts'
import { unprivilegedUser } from '../../machine/unprivileged-user.ts'

// If the address of a server is given, this machine may have none to start.
const skip = !(await mariadb.find()) && 'mariadb is not on this machine'

describe('the service mariadb', () => {
  it('is up, and as durable as by default', async () => {
    const [row] = await query(
      process.env['MARIADB_URL']!,
      'select version() as version, @@innodb_flush_log_at_trx_commit as flush, @@innodb_doublewrite as doublewrite',
    )
    const { version, ...settings } = row!
    match(String(version), /^(10\.(6|1\d)|1[1-9])\./)
    deepEqual(settings, { flush: 1, doublewrite: 1 })
  })
})

describe('a server of mariadb', { skip }, () => {
  let folder: TemporaryFolder
  let server: MariadbServer

  before(async () => {
    folder = temporaryFolder('server')
    server = await debianMariadbServer(folder.path)
    await query(server.url, 'create table kept (value varchar(100))')
  })
  after(async () => {
    await server.kill()
    folder.remove()
  })

  const ends: Readonly<Record<string, () => Promise<void>>> = {
    'a stop': () => server.stop(),
    'a kill': () => server.kill(),
  }
  for (const [name, end] of Object.entries(ends)) {
    it(`comes back after ${name} at the same address and with all committed data`, async () => {
      const { url } = server
      await query(url, `insert into kept values ('before ${name}')`)
      await end()
      await server.start()

      equal(server.url, url)
      equal((await query(url, `select * from kept where value = 'before ${name}'`)).length, 1)
    })

    it(`leaves no process behind after ${name}, though it was busy`, async () => {
      const [failed] = await busyClient(server.url)
      notDeepEqual(processesWithin(folder.path), [])
      await end()

      deepEqual(processesWithin(folder.path), [])
      await failed
      await rejects(query(server.url, 'select 1'), { code: 'ECONNREFUSED' })
      await server.start()
    })
  }

  it('restarts in one go', async () => {
    const [first] = await query(server.url, 'select connection_id() as id, @@pid_file as file')
    const [before] = processesWithin(folder.path)
    await server.restart()
    const [after] = processesWithin(folder.path)

    equal((await query(server.url, 'select @@pid_file as file'))[0]!['file'], first!['file'])
    notEqual(after, before)
    await rejects(server.start(), /runs already/)
  })

  it('does nothing when it is down already', async () => {
    await server.stop()
    await server.stop()
    await server.kill()
    await server.start()
  })
})

describe('a process with mariadb', { skip }, () => {
  let started: StartedService | undefined
  afterEach(() => started?.remove())

  for (const how of ['launched', 'alone'] as const) {
    it(`leaves nothing behind when it is ended by a signal, its service being ${how}`, async () => {
      started = await StartedService.start(mariadb, how)
      const [failed] = await busyClient(started.url)

      equal(await started.end('SIGTERM'), 143)
      deepEqual(await started.remains(), [])
      await failed
    })
  }

  it('may run as any user', async (test) => {
    if (process.getuid?.() !== 0) return test.skip('nothing runs as root here')
    if (!(await canRunHere(unprivilegedUser()))) return test.skip('only root can read this project')

    started = await StartedService.start(mariadb, 'launched', unprivilegedUser())
    deepEqual(await query(started.url, 'select 1 as one'), [{ one: 1 }])
    equal(await started.end('SIGTERM'), 143)
    deepEqual(await started.remains(), [])
  })
})

async function query(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const connection = await mysql.createConnection(url)
  try {
    const [rows] = await connection.query(sql)
    return rows as Record<string, unknown>[]
  } finally {
    await connection.end()
  }
}

/** Keeps a connection busy. Resolves with promises that resolve when its statement has failed. */
async function busyClient(url: string): Promise<Promise<void>[]> {
  const connection = await mysql.createConnection(url)
  connection.on('error', () => {})
  const { threadId } = connection
  const failed = rejects(connection.query('select sleep(600), benchmark(1e12, 1)'))

  const state = `select command from information_schema.processlist where id = ${threadId}`
  while ((await query(url, state))[0]!['command'] !== 'Query');
  return [failed]
}
