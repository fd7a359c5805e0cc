import { equal } from 'node:assert/strict'
import { it } from 'node:test'
import { OutboxDispatcher } from '../../src/dispatch/outbox-dispatcher.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { deliveryOf } from '../fixtures/delivery-of.ts'
import { Gate } from '../fixtures/gate.ts'

it('a dispatcher stands still when no poll can bring a row, and those that it brought are handed back', async () => {
  const [asked, answered] = [new Gate(), new Gate()]
  const store = {
    ...memoryStore(),
    async release() {
      asked.open()
      await answered.passed
    },
  }
  const dispatcher = new OutboxDispatcher({ store, listeners: new ListenerRegistry() })
  const pollEnds = dispatcher.inFlight.pollBegins()
  let isStill = false
  const standing = dispatcher.standStill().then(() => (isStill = true))

  await new Promise((resolve) => setImmediate(resolve))
  equal(isStill, false, 'a poll may still bring rows')
  equal(dispatcher.enqueueCold(deliveryOf()), false)
  pollEnds()
  await asked.passed
  await new Promise((resolve) => setImmediate(resolve))
  equal(isStill, false, 'this process still has the lease')
  answered.open()
  await standing
})
