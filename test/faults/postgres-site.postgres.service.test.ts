import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { postgres } from '../services/postgres.ts'
import { runCommand } from '../services/run-command.ts'
import { type TemporaryFolder, temporaryFolder } from '../services/temporary-folder.ts'
import type { FaultSite } from './fault-store.ts'
import { monotonicMs } from './history/history-file.ts'
import { postgresSite } from './postgres-site.ts'
import { wrongClocksMissing } from './wrong-clock.ts'

// Where the address of one is given, there need not be another that can be harmed.
const skip = !(await postgres.find()) && 'PostgreSQL itself is not on this machine'

describe('the place of fault runs on PostgreSQL', { skip }, () => {
  let folder: TemporaryFolder
  let site: FaultSite
  const clients: Client[] = []

  before(async () => {
    folder = temporaryFolder('site')
    site = await postgresSite(folder.path, {
      workers: ['worker1', 'worker2', 'worker4'],
      writers: ['writer1'],
    })
    await query(await sessionOf('driver'), 'create table kept (value text)')
  })
  afterEach(() => Promise.all(clients.splice(0).map((client) => client.end())))
  after(async () => {
    await site.close()
    folder.remove()
  })

  for (const harm of ['fastRestart', 'immediateRestart', 'crash']) {
    it(`ends all sessions by ${harm}, and is back afterwards with what was committed`, async () => {
      const sessions = [await sessionOf('worker1'), await sessionOf('worker2')]
      await query(sessions[0]!, `insert into kept values ('before ${harm}')`)
      await site.harms[harm]!.do('worker1', 10)

      for (const session of sessions) await rejects(query(session, 'select'))
      const rows = await query(await sessionOf('worker2'), `select from kept where value = 'before ${harm}'`)
      equal(rows.length, 1)
    })
  }

  it('ends sessions of one slot and no others', async () => {
    const [meant, other] = [await sessionOf('worker1'), await sessionOf('worker2')]
    await site.harms['terminate']!.do('worker1', 0)
    await rejects(query(meant, 'select'))
    await query(other, 'select')
  })

  it('cuts the connections of one slot and no others', async () => {
    const [meant, other] = [await sessionOf('worker2'), await sessionOf('writer1')]
    await site.harms['cut']!.do('worker2', 0)
    await rejects(query(meant, 'select'))
    await query(other, 'select')
  })

  it('loses everything for a while, and cuts what was affected', async () => {
    const meant = await sessionOf('worker2')
    const over = site.harms['silence']!.do('worker2', 100)
    const lost = rejects(query(meant, `insert into kept values ('in silence')`))
    await over
    await lost
    deepEqual(await query(await sessionOf('worker2'), `select from kept where value = 'in silence'`), [])
  })

  it('leaves connections silent for good, and lets others through', async () => {
    const [meant, unused] = [await sessionOf('worker4'), await sessionOf('worker4')]
    const over = site.harms['mute']!.do('worker4', 50)
    const unanswered = query(meant, 'select')
    await over
    await query(unused, 'select')
    await query(await sessionOf('worker4'), 'select')
    equal(await Promise.race([unanswered.then(() => 'answered'), delay(100, 'silent')]), 'silent')

    const ended = rejects(unanswered)
    await site.harms['cut']!.do('worker4', 0)
    await ended
  })

  it('loses the answer to a commit, and not the commit', async () => {
    const meant = await sessionOf('writer1')
    await query(meant, `begin; insert into kept values ('unanswered')`)
    const lost = site.harms['loseCommit']!.do('writer1', 0)
    await rejects(query(meant, 'commit'))
    await lost
    const rows = await query(await sessionOf('driver'), `select from kept where value = 'unanswered'`)
    equal(rows.length, 1)
  })

  it('always has somebody who holds an old snapshot', async () => {
    const held = `select from pg_stat_activity where state = 'idle in transaction' and backend_xmin is not null`
    const isHeld = async () => (await query(await sessionOf('driver'), held)).length > 0
    while (!(await isHeld()));
    await site.harms['fastRestart']!.do('worker1', 0)
    while (!(await isHeld()));
  })

  it('gives some processes a wrong clock and right timers', async (test) => {
    const missing = await wrongClocksMissing()
    if (missing !== undefined) return test.skip(missing)

    const script = 'console.log(Date.now(), Number(process.hrtime.bigint() / 1_000_000n))'
    const { environment } = site.accessOf('worker2')
    const [date, monotonic] = (
      await runCommand(process.execPath, ['-e', script], { env: { ...process.env, ...environment } })
    )
      .split(' ')
      .map(Number)
    ok(Math.abs(date! - Date.now() - 3_600_000) < 60_000)
    ok(Math.abs(monotonic! - monotonicMs()) < 60_000)
  })

  async function sessionOf(slot: string): Promise<Client> {
    const client = new Client(slot === 'driver' ? site.location : site.accessOf(slot).location)
    client.on('error', () => {})
    clients.push(client)
    await client.connect()
    return client
  }
})

async function query(client: Client, sql: string): Promise<readonly unknown[]> {
  return (await client.query(sql)).rows
}
