import { equal, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defineEvent } from '../../src/event/event-type.ts'
import { BoundEventListener } from '../../src/route/event-listener.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'

const listener = { onEvent: () => {} }

describe('the registry', () => {
  it('finds a listener by aggregate type and event type', () => {
    const registry = new ListenerRegistry()
      .register('UserCreated', listener)
      .register('Order', 'Placed', () => {})
      .register({ name: 'Order' }, { name: 'Paid' }, listener)
    equal(registry.listenerFor('__GLOBAL__', 'UserCreated'), listener)
    equal(registry.listenerFor('Order', 'Paid'), listener)
    equal('onEvent' in registry.listenerFor('Order', 'Placed')!, true)
    equal(registry.listenerFor('Order', 'UserCreated'), undefined)
  })

  it('takes a listener that is bound to its event', () => {
    class Welcome extends BoundEventListener {
      constructor() {
        super('User', { name: 'Created' })
      }
      onEvent() {}
    }
    const welcome = new Welcome()
    equal(new ListenerRegistry().register(welcome).listenerFor('User', 'Created'), welcome)
  })

  it('has one listener per event', () => {
    const placed = defineEvent<{ id: string }>('Placed', { aggregateType: 'Order' })
    const registry = new ListenerRegistry().register(placed, () => {})
    for (const again of [
      () => registry.register(placed, () => {}),
      () => registry.register('Order', 'Placed', listener),
    ]) {
      throws(again, { code: 'OUTBOX_DUPLICATE_LISTENER', message: /"Placed" of aggregate type "Order"/ })
    }
  })

  it('refuses what is no listener, no type or no option', () => {
    const registry = new ListenerRegistry()
    const register = registry.register.bind(registry) as (...args: unknown[]) => unknown
    throws(() => register('A', {}), { code: 'OUTBOX_INVALID_OPTION' })
    throws(() => register('A', 'B', {}), {
      code: 'OUTBOX_INVALID_OPTION',
      message: /a function or an object with onEvent/,
    })
    throws(() => register(7, listener), { code: 'OUTBOX_INVALID_OPTION' })
    throws(() => register('A', listener, { timeout: 5 }), {
      code: 'OUTBOX_UNKNOWN_OPTION',
      message: /timeoutMs/,
    })
    throws(() => register('A', listener, { timeoutMs: -5 }), { code: 'OUTBOX_INVALID_OPTION' })
  })
})
