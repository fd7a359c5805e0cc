import { deepEqual, equal, rejects } from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { startOutbox } from '../../fixtures/outbox-fixture.ts'
import { testedClusters } from './tested-clients.ts'

const clusters = await testedClusters()
after(() => Promise.all(clusters.map((cluster) => cluster.close())))

for (const { name, client, multi, exec, get } of clusters) {
  describe(`an outbox in a Cluster by ${name}`, () => {
    // These three are in three places of the Cluster.
    for (const prefix of ['orders', 'mails', 'invoices']) {
      const tag = `${prefix}-${name}-${process.pid}`

      it(`keeps keys of the same hash tag and events together, and wakes others by signals, ${prefix}`, async (test) => {
        const store = redisStore({ client, prefix: tag })
        const { outbox, metrics, listener } = await startOutbox(test, store)
        await outbox.transaction(async (tx) => {
          tx.set(`{${tag}}:order`, 'placed')
          await outbox.write('Tested', 'own')
        })
        const foreign = multi().set(`{${tag}}:order`, 'placed twice')
        await outbox.write('Tested', 'foreign', { tx: foreign })
        await exec(foreign)
        await metrics.until((seen) => seen.dispatchSuccess === 2)

        equal(await get(`{${tag}}:order`), 'placed twice')
        deepEqual(listener.payloads.toSorted(), ['foreign', 'own'])
      })
    }

    it('refuses a transaction with a key of another hash tag as a whole', async (test) => {
      const tag = `elsewhere-${name}-${process.pid}`
      const { outbox, store } = await startOutbox(test, redisStore({ client, prefix: tag }))
      const key = `order of another place ${name}`
      const failing = outbox.transaction(async (tx) => {
        tx.set(key, 'placed')
        await outbox.write('Tested', 1)
      })

      await rejects(failing)
      equal(await get(key), null)
      equal(await store.people.count({}), 0)
    })
  })
}
