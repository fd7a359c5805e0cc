import { deepEqual, equal, match } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { outboxAdmin } from '../../src/admin/index.ts'
import { DeadEventManager } from '../../src/dead/dead-event-manager.ts'
import type { Logger } from '../../src/observe/logger.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { OutboxPurgeScheduler } from '../../src/purge/outbox-purge-scheduler.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { kill, write } from '../admin/admin-behaviour.ts'

const callbacks: readonly (readonly [how: string, onProgress: () => unknown])[] = [
  [
    'throws',
    () => {
      throw new Error('no notice')
    },
  ],
  ['rejects', async () => Promise.reject(new Error('no notice'))],
]

for (const [how, onProgress] of callbacks) {
  describe(`a progress callback that ${how} is logged, and stops nothing`, () => {
    it('of replayAll, whose log counts what it does not repeat', async () => {
      const { store, logger, log } = await parts(8)
      const clock = fakeClock()
      const manager = new DeadEventManager({ store, logger, clock })
      equal(await manager.replayAll({}, { batchSize: 1, onProgress }), 8)
      await setImmediate()
      equal(log.length, 5)
      equal(log[0], 'The onProgress of replayAll failed, and the work goes on. Error: no notice')
      await clock.advance(10_000)
      match(log[5]!, /^3 more failures of onProgress within 10 s\./)
    })

    it('of admin.run, of admin.resumeRun and of admin.copy', async () => {
      const { store, logger, log } = await parts(4)
      const admin = outboxAdmin({ store, logger }).as('ann')
      const plan = await admin.plan('replay', {}, { all: true })
      const stopped = await admin.run(plan, { signal: AbortSignal.abort() })
      equal((await admin.resumeRun(stopped.id, { batchSize: 2, onProgress })).acted, 4)
      await kill(store, 1, 'Error: no')
      const again = await admin.plan('replay', {}, { all: true })
      equal((await admin.run(again, { onProgress })).acted, 1)
      const content = JSON.stringify({ rules: [], default: ['', 'mail'] })
      await store.routing.publish({ version: 1, content })
      await write(store, 1, { eventType: 'Placed' })
      equal(await admin.copy({ eventType: 'Placed' }, { to: 'mail', onProgress }), 1)
      await setImmediate()
      const of = (what: string) => `The onProgress of ${what} failed, and the work goes on. Error: no notice`
      deepEqual(log, [of('run'), of('run'), of('run'), of('copy')])
    })

    it('of a purge, which is no outage of the store', async (t) => {
      const { store, logger, log } = await parts(3)
      const outages: unknown[] = []
      const told = Promise.withResolvers<void>()
      const purge = { deadRetentionMs: 1, batchSize: 2, onProgress }
      const clock = fakeClock({ now: Date.now() + 60_000 })
      await new OutboxPurgeScheduler({ store, logger, clock, ...purge }).runOnce()
      await setImmediate()
      equal(log[0], 'The onProgress of the purge failed, and the work goes on. Error: no notice')

      log.length = 0
      const telling = {
        ...logger,
        error(line: string) {
          log.push(line)
          told.resolve()
        },
      }
      const outbox = Outbox.multiNode({ store, logger: telling, purge })
      t.after(() => outbox.close())
      outbox.events.on('outage', (report) => outages.push(report))
      await outbox.start()
      await told.promise
      await outbox.close()
      deepEqual(outages, [])
      match(log[0], /^The onProgress of the purge failed/)
    })
  })
}

async function parts(deadEvents: number) {
  const store = memoryStore()
  await kill(store, deadEvents, 'Error: no')
  const log: string[] = []
  const logger: Logger = { debug() {}, info() {}, warn() {}, error: (line) => void log.push(line) }
  return { store, logger, log }
}
