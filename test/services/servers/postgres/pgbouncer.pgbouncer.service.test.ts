import { deepEqual, equal, notEqual } from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { Client } from 'pg'
import { pgbouncer } from './pgbouncer.ts'
import { StartedService } from '../started-service.ts'

describe('the service pgbouncer', () => {
  const clients: Client[] = []
  let started: StartedService | undefined
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.end()))
    await started?.remove()
  })

  it('shares connections between transactions', async () => {
    const [one, other] = [await connect(), await connect()]
    equal(await connectionOf(other), await connectionOf(one))

    await one.query('begin')
    notEqual(await connectionOf(other), await connectionOf(one))
    await one.query('commit')
  })

  it('leaves nothing behind when its process is ended by a signal', async () => {
    started = await StartedService.start(pgbouncer, 'launched')
    const client = await connect(started.url)
    await client.query('begin')

    equal(await started.end('SIGTERM'), 143)
    deepEqual(await started.remains(), [])
  })

  async function connect(url = process.env['PGBOUNCER_URL']!): Promise<Client> {
    const client = new Client(url)
    client.on('error', () => {})
    clients.push(client)
    await client.connect()
    return client
  }

  async function connectionOf(client: Client): Promise<number> {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    return rows[0]!.pid
  }
})
