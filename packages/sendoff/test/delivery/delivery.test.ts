import { equal } from 'node:assert/strict'
import { it } from 'node:test'
import { ListenerContext } from '../../src/process/listener-context.ts'
import { deliveryOf } from '../fixtures/delivery-of.ts'

it('a row that was claimed again before its listener begins has its new fence, and no signal to stop', () => {
  const delivery = deliveryOf({ deliveries: 1 })
  delivery.lose()
  delivery.claimedAgain({ ...delivery.row, deliveries: 2 }, Infinity)

  const context = new ListenerContext(delivery)
  equal(context.fencingToken, 2)
  equal(context.signal.aborted, false)
})

it('a listener that runs keeps its fencing token and its signal when the process claims its row again', () => {
  const delivery = deliveryOf({ deliveries: 1 })
  const context = new ListenerContext(delivery)
  const { signal } = context
  delivery.lose()
  delivery.claimedAgain({ ...delivery.row, deliveries: 2 }, Infinity)

  equal(context.fencingToken, 1)
  equal(signal.aborted, true)
  equal(context.signal, signal)
})
