import { equal, rejects } from 'node:assert/strict'
import { it } from 'node:test'
import { Redis } from 'ioredis'
import { Inbox } from '../../src/inbox/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { startOutbox } from '../fixtures/outbox-fixture.ts'

it('on Redis an inbox accepts messages, and refuses to process them', async (test) => {
  const client = new Redis(process.env['REDIS_URL']!)
  test.after(() => client.quit())
  const store = redisStore({ client, prefix: `inbox-${process.pid}` })
  const { outbox, metrics, listener } = await startOutbox(test, store)
  const inbox = new Inbox({ outbox, consumer: 'billing' })
  await rejects(
    inbox.process('m-1', () => {}),
    { code: 'OUTBOX_STORE_CANNOT', message: /In Redis, .* PostgreSQL, MySQL, MariaDB or SQLite/ },
  )
  await rejects(inbox.purge(), { code: 'OUTBOX_STORE_CANNOT' })

  const message = { id: 'm-1', type: 'Tested', payload: 1 }
  equal((await inbox.accept(message)).outcome, 'accepted')
  await inbox.accept(message)
  await inbox.accept({ ...message, id: 'm-2', payload: 2 })
  await metrics.until((seen) => seen.dispatchSuccess === 2)
  equal(listener.payloads.length, 2)
  equal(await store.people.count({}), 2)
})
