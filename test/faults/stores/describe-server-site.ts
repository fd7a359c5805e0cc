import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { runCommand } from '../../services/processes/run-command.ts'
import { type TemporaryFolder, temporaryFolder } from '../../services/machine/temporary-folder.ts'
import type { FaultSite, RunSlots } from './fault-store.ts'
import { monotonicMs } from '../history/history-file.ts'
import { wrongClocksMissing } from './wrong-clock.ts'

export interface DescribedSite {
  readonly name: string
  readonly skip: string | false
  readonly make: (folder: string, slots: RunSlots) => Promise<FaultSite>
  /** Opens a session at the address that a process gets. */
  readonly open: (location: string) => Promise<SiteSession>
  /** The harms that restart the server. */
  readonly restarts: readonly string[]
  /** SQL that returns a row while a session holds a snapshot. */
  readonly heldSnapshots: string
}

export interface SiteSession {
  run(sql: string): Promise<readonly unknown[]>
  end(): Promise<unknown>
}

/** Declares the tests of a fault site on any server. */
export function describeServerSite({ name, skip, make, open, restarts, heldSnapshots }: DescribedSite): void {
  describe(`the place of fault runs on ${name}`, { skip }, () => {
    let folder: TemporaryFolder
    let site: FaultSite
    const sessions: SiteSession[] = []

    before(async () => {
      folder = temporaryFolder('site')
      site = await make(folder.path, { workers: ['worker1', 'worker2', 'worker4'], writers: ['writer1'] })
      await (await sessionOf('driver')).run('create table kept (value varchar(100))')
    })
    afterEach(() => Promise.all(sessions.splice(0).map((session) => session.end())))
    after(async () => {
      await site.close()
      folder.remove()
    })

    for (const harm of restarts) {
      it(`ends all sessions by ${harm}, and is back afterwards with what was committed`, async () => {
        const ended = [await sessionOf('worker1'), await sessionOf('worker2')]
        await ended[0]!.run(`insert into kept values ('before ${harm}')`)
        await site.harms[harm]!.do('worker1', 10)

        for (const session of ended) await rejects(session.run('select 1'))
        equal((await keptRows(`before ${harm}`)).length, 1)
      })
    }

    it('ends sessions of one slot and no others', async () => {
      const [meant, other] = [await sessionOf('worker1'), await sessionOf('worker2')]
      await site.harms['terminate']!.do('worker1', 0)
      await rejects(meant.run('select 1'))
      await other.run('select 1')
    })

    it('cuts the connections of one slot and no others', async () => {
      const [meant, other] = [await sessionOf('worker2'), await sessionOf('writer1')]
      await site.harms['cut']!.do('worker2', 0)
      await rejects(meant.run('select 1'))
      await other.run('select 1')
    })

    it('loses everything for a while, and cuts what was affected', async () => {
      const meant = await sessionOf('worker2')
      const over = site.harms['silence']!.do('worker2', 100)
      const lost = rejects(meant.run(`insert into kept values ('in silence')`))
      await over
      await lost
      deepEqual(await keptRows('in silence'), [])
    })

    it('leaves connections silent for good, and lets others through', async () => {
      const [meant, unused] = [await sessionOf('worker4'), await sessionOf('worker4')]
      const over = site.harms['mute']!.do('worker4', 50)
      const unanswered = meant.run('select 1')
      await over
      await unused.run('select 1')
      await (await sessionOf('worker4')).run('select 1')
      equal(await Promise.race([unanswered.then(() => 'answered'), delay(100, 'silent')]), 'silent')

      const ended = rejects(unanswered)
      await site.harms['cut']!.do('worker4', 0)
      await ended
    })

    it('loses the reply to a commit, but not the commit', async () => {
      const meant = await sessionOf('writer1')
      await meant.run('begin')
      await meant.run(`insert into kept values ('unanswered')`)
      const lost = site.harms['loseCommit']!.do('writer1', 0)
      await rejects(meant.run('commit'))
      await lost
      equal((await keptRows('unanswered')).length, 1)
    })

    it('always has a session that holds an old snapshot', async () => {
      await untilSnapshotIsHeld()
      await site.harms[restarts[0]!]!.do('worker1', 0)
      await untilSnapshotIsHeld()
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

    async function sessionOf(slot: string): Promise<SiteSession> {
      const session = await open(slot === 'driver' ? site.location : site.accessOf(slot).location)
      sessions.push(session)
      return session
    }

    async function untilSnapshotIsHeld(): Promise<void> {
      const driver = await sessionOf('driver')
      // InnoDB gives the same result if it is asked again within a tenth of a second.
      while ((await driver.run(heldSnapshots)).length === 0) await delay(150)
    }

    async function keptRows(value: string): Promise<readonly unknown[]> {
      return (await sessionOf('driver')).run(`select 1 from kept where value = '${value}'`)
    }
  })
}
