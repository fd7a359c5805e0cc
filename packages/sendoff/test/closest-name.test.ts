import { match, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { closestName } from '../src/closest-name.ts'
import { fixedDelay, ListenerRegistry, Outbox, OutboxError, silentLogger } from '../src/index.ts'
import { memoryStore } from '../src/stores/memory/index.ts'

const listeners = new ListenerRegistry().register('OrderPlaced', () => {})

describe('an error', () => {
  const refused = (make: () => unknown, text: RegExp) =>
    throws(make, (error: unknown) => error instanceof OutboxError && text.test(error.message))

  it('suggests the option that was meant', () => {
    const options = { store: memoryStore(), listeners, workerCuont: 2 }
    refused(() => Outbox.multiNode(options), /has no option "workerCuont"\. Did you mean "workerCount"\?/)
  })

  it('suggests the field that was meant', async () => {
    const outbox = await Outbox.multiNode({ store: memoryStore(), listeners }).start()
    const write = outbox.transaction(() => outbox.write('OrderPlaced', {}, { agregateId: '1' } as never))
    await write.then(
      () => match('written', /refused/),
      (error: Error) => match(error.message, /"agregateId"\. Did you mean "aggregateId"\?/),
    )
    await outbox.close()
  })

  it('suggests nothing if no name is close', () => {
    refused(
      () => Outbox.multiNode({ store: memoryStore(), listeners, colour: 'red' } as never),
      /has no option "colour"\. Its options are/,
    )
  })

  it('names the event type whose retry policy is wrong', () => {
    const retryPolicyByType = { OrderPlaced: fixedDelay(1), OrderPaid: {} as never }
    refused(
      () => Outbox.multiNode({ store: memoryStore(), listeners, retryPolicyByType }),
      /Option "OrderPaid" of the retryPolicyByType of Outbox\.multiNode must be an object with computeDelayMs\(\)/,
    )
  })

  it('names the presets if an outbox is made without one', () => {
    const Constructor = Outbox as unknown as new (options: object) => unknown
    refused(
      () => new Constructor({ store: memoryStore() }),
      /^Outbox has no public constructor\. .*singleNode/,
    )
  })

  it('suggests the event type that was meant if no listener is registered', () => {
    const { message } = listeners.unroutable('e-1', '__GLOBAL__', 'OrderPlacd')
    match(message, /Did you mean "__GLOBAL__:OrderPlaced"\?/)
  })
})

it('pausing an event type without a listener warns, with the type that was meant', async () => {
  const warnings: string[] = []
  const logger = { ...silentLogger, warn: (message: string) => warnings.push(message) }
  const outbox = await Outbox.multiNode({ store: memoryStore(), listeners, logger }).start()
  await outbox.pause({ eventType: 'OrderPlaced' })
  await outbox.pause({ eventType: 'OrderPlaecd' })
  await outbox.close()
  match(warnings.join('\n'), /^Event type "OrderPlaecd" is paused, but .* Did you mean "OrderPlaced"\?$/)
})

it('the closest name is the one with the fewest changes, if there are few enough', () => {
  match(closestName('leaseMS', ['leaseMs', 'listeners']) ?? '', /^leaseMs$/)
  match(closestName('x', ['leaseMs']) ?? 'none', /^none$/)
})
