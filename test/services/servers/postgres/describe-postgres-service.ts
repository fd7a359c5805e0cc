import { deepEqual, equal, match, notDeepEqual, rejects } from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { Client } from 'pg'
import type { PostgresServer } from './postgres-server.ts'
import type { Service } from '../../service.ts'
import { canRunHere, processesWithin, StartedService } from '../started-service.ts'
import { type TemporaryFolder, temporaryFolder } from '../../machine/temporary-folder.ts'
import { unprivilegedUser } from '../../machine/unprivileged-user.ts'

export interface PostgresServiceFacts {
  readonly service: Service
  /** Pattern of `server_version`. */
  readonly version: RegExp
  readonly startServer: (folder: string) => Promise<PostgresServer>
}

/** Declares the tests of a PostgreSQL service, and of the server that tests may harm. */
export async function describePostgresService(facts: PostgresServiceFacts): Promise<void> {
  const { service } = facts
  // If the address of a server is given, this machine may have none to start.
  const skip = !(await service.find()) && `${service.name} is not on this machine`

  describe(`the service ${service.name}`, () => {
    it('is up, and as durable as by default', () => isUpAndDurable(facts))
  })
  describe(`a server of ${service.name}`, { skip }, () => describeServer(facts))
  describe(`a process with ${service.name}`, { skip }, () => describeProcess(facts))
}

async function isUpAndDurable({ service, version }: PostgresServiceFacts): Promise<void> {
  const names = ['server_version', 'fsync', 'synchronous_commit', 'full_page_writes', 'wal_level']
  const columns = names.map((name) => `current_setting('${name}') as ${name}`)
  const [row] = await query(process.env[service.urlVariable]!, `select ${columns.join()}`)

  const { server_version, ...settings } = row!
  match(String(server_version), version)
  deepEqual(settings, { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on', wal_level: 'logical' })
}

function describeServer({ startServer }: PostgresServiceFacts): void {
  let folder: TemporaryFolder
  let server: PostgresServer

  before(async () => {
    folder = temporaryFolder('server')
    server = await startServer(folder.path)
    await query(server.url, 'create table kept (value text)')
  })
  after(async () => {
    await server.stop('immediate')
    folder.remove()
  })

  const ends: Readonly<Record<string, () => Promise<void>>> = {
    'a fast stop': () => server.stop('fast'),
    'an immediate stop': () => server.stop('immediate'),
    'a kill': () => server.kill(),
  }
  for (const [name, end] of Object.entries(ends)) {
    it(`comes back after ${name} at the same address and with all committed data`, async () => {
      const { url } = server
      await query(url, `insert into kept values ('before ${name}')`)
      await end()
      await server.start()

      equal(server.url, url)
      deepEqual(await query(url, `select from kept where value = 'before ${name}'`), [{}])
    })

    it(`leaves no process behind after ${name}, though it was busy`, async () => {
      const { client, failed } = await busyClient(server.url)
      notDeepEqual(processesWithin(folder.path), [])
      await end()

      deepEqual(processesWithin(folder.path), [])
      await failed
      await rejects(query(server.url, 'select'), { code: 'ECONNREFUSED' })
      await client.end()
      await server.start()
    })
  }

  it('restarts in one go', async () => {
    const [first] = await query(server.url, 'select pg_postmaster_start_time()::text as time')
    await server.restart('immediate')
    notDeepEqual(await query(server.url, 'select pg_postmaster_start_time()::text as time'), [first])
    await rejects(server.start(), /runs already/)
  })

  it('does nothing when it is down already', async () => {
    await server.stop()
    await server.stop()
    await server.kill()
    await server.start()
  })

  it('sorts in natural order by default', async () => {
    const [row] = await query(server.url, `select 'a' < 'B' as people, 'a' < 'B' collate "C" as bytes`)
    deepEqual(row, { people: true, bytes: false })
  })
}

function describeProcess({ service }: PostgresServiceFacts): void {
  let started: StartedService | undefined
  afterEach(() => started?.remove())

  for (const how of ['launched', 'alone'] as const) {
    it(`leaves nothing behind when it is ended by a signal, its service being ${how}`, async () => {
      started = await StartedService.start(service, how)
      const { client, failed } = await busyClient(started.url)

      equal(await started.end('SIGTERM'), 143)
      deepEqual(await started.remains(), [])
      await failed
      await client.end()
    })
  }

  it('may run as any user', async (test) => {
    if (process.getuid?.() !== 0) return test.skip('nothing runs as root here')
    if (!(await canRunHere(unprivilegedUser()))) return test.skip('only root can read this project')

    started = await StartedService.start(service, 'launched', unprivilegedUser())
    deepEqual(await query(started.url, 'select 1 as one'), [{ one: 1 }])
    equal(await started.end('SIGTERM'), 143)
    deepEqual(await started.remains(), [])
  })
}

async function query(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new Client(url)
  try {
    await client.connect()
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}

interface BusyClient {
  readonly client: Client
  /** Resolves when its statement has failed. */
  readonly failed: Promise<void>
}

/** Keeps one of the server's processes so busy that it would not notice if it were the last one. */
async function busyClient(url: string): Promise<BusyClient> {
  const client = new Client(url)
  client.on('error', () => {})
  await client.connect()
  const [row] = (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows
  const failed = rejects(client.query('do $$ begin loop end loop; end $$'))

  const state = `select state from pg_stat_activity where pid = ${row!.pid}`
  while ((await query(url, state))[0]!['state'] !== 'active');
  return { client, failed }
}
