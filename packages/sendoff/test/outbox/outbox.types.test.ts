import { equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defineEvent } from '../../src/event/event-type.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import type { OutboxOptions } from '../../src/outbox/outbox-options.ts'
import type { WriterOutbox } from '../../src/outbox/writer-outbox.ts'
import { DispatchResult } from '../../src/route/dispatch-result.ts'
import { memoryStore, type MemoryTx } from '../../src/stores/memory/index.ts'
import { StubTxContext, testOutbox } from '../../src/testing/index.ts'
import type { TransactionOptions } from '../../src/transactions.ts'
import type { EventWriter } from '../../src/write/event-writer.ts'
import { OutboxWriter } from '../../src/write/outbox-writer.ts'
import type { WriterHook } from '../../src/write/writer-hook.ts'

const Placed = defineEvent<{ readonly orderId: string }>('Placed', { aggregateType: 'Order' })
type Preset = 'singleNode' | 'multiNode' | 'singleWriter' | 'ordered' | 'partitioned' | 'writerOnly'

// The compiler makes these checks: an expected error that does not occur is an error.
describe('the id of a written event', () => {
  it('is a string on an outbox without a writer hook', () => {
    const typed = async (preset: Preset) => {
      const outbox = Outbox[preset]({ store: memoryStore() })
      const defined: string = await outbox.write(Placed, { orderId: 'o-1' })
      const named: string = await outbox.write('Placed', 1)
      const made: string = await outbox.write(Placed.of({ orderId: 'o-1' }))
      const all: string[] = await outbox.writeAll([Placed.of({ orderId: 'o-1' })])
      const written: string = await outbox.writer.write(Placed, { orderId: 'o-1' })
      const asWriter: EventWriter<MemoryTx> = outbox
      const byWriter: string = await asWriter.write(Placed, { orderId: 'o-1' })
      return [defined, named, made, written, byWriter, ...all]
    }
    equal(typeof typed, 'function')
  })

  it('may be null on an outbox with a writer hook', () => {
    const typed = async () => {
      const store = memoryStore()
      const outbox = Outbox.multiNode({ store, writerHook: { beforeWrite: (events) => events.slice(1) } })
      // @ts-expect-error the hook may have suppressed the event
      const id: string = await outbox.write(Placed, { orderId: 'o-1' })
      const idOrNull: string | null = await outbox.write(Placed, { orderId: 'o-1' })
      const all: string[] = await outbox.writeAll([Placed.of({ orderId: 'o-1' })])
      // @ts-expect-error the hook may have suppressed the event
      const written: string = await outbox.writer.write(Placed, { orderId: 'o-1' })
      return [id, idOrNull, written, ...all]
    }
    equal(typeof typed, 'function')
  })

  it('may be null if the options may have a hook', () => {
    const typed = async (options: OutboxOptions<MemoryTx, MemoryTx>, writerHook: WriterHook | undefined) => {
      // @ts-expect-error the options may have a hook
      const one: string = await Outbox.multiNode(options).write('Any', 1)
      const store = memoryStore()
      // @ts-expect-error there may be a hook
      const other: string = await Outbox.writerOnly({ store, writerHook }).write('Any', 1)
      const none: string = await Outbox.writerOnly({ store, writerHook: undefined }).write('Any', 1)
      return [one, other, none]
    }
    equal(typeof typed, 'function')
  })

  it('follows the type of an EventWriter', () => {
    const typed = async (writerHook: WriterHook) => {
      const store = memoryStore()
      const hooked = Outbox.singleNode({ store, writerHook })
      // @ts-expect-error the hook may have suppressed the event
      const writer: EventWriter<MemoryTx> = hooked
      // @ts-expect-error the hook may have suppressed the event
      const outbox: Outbox<MemoryTx> = hooked
      const careful: EventWriter<MemoryTx, never, string | null>[] = [hooked, Outbox.writerOnly({ store })]
      // @ts-expect-error the hook may have suppressed the event
      const id: string = await careful[0]!.write('Any', 1)
      const annotated: Outbox<MemoryTx, MemoryTx, TransactionOptions, string | null> = hooked
      return [writer, outbox, id, annotated]
    }
    equal(typeof typed, 'function')
  })

  it('follows the hook of a bare writer, and of a test outbox', () => {
    const typed = async (tx: MemoryTx, writerHook: WriterHook) => {
      const store = memoryStore()
      const options = { store, txContext: new StubTxContext(tx) }
      const id: string = await new OutboxWriter<MemoryTx, MemoryTx, string>(options).write('Any', 1)
      // @ts-expect-error the writer may have a hook
      const maybe: string = await new OutboxWriter({ ...options, writerHook }).write('Any', 1)
      const tested: string = await (await testOutbox()).write('Any', 1)
      // @ts-expect-error the hook may have suppressed the event
      const hooked: string = await (await testOutbox({ writerHook })).write('Any', 1)
      return [id, maybe, tested, hooked]
    }
    equal(typeof typed, 'function')
  })
})

describe('an outbox that only writes', () => {
  it('has no calls that deliver', () => {
    const typed = (writer: WriterOutbox<MemoryTx>, outbox: Outbox<MemoryTx>) => {
      const made: WriterOutbox<MemoryTx> = Outbox.writerOnly({ store: memoryStore() })
      const every: readonly WriterOutbox<MemoryTx>[] = [made, outbox]
      // @ts-expect-error an outbox that only writes does not deliver
      const delivering: Outbox<MemoryTx> = writer
      return [
        every,
        delivering,
        // @ts-expect-error an outbox that only writes does not deliver
        writer.drain,
        // @ts-expect-error an outbox that only writes does not deliver
        writer.poll,
        // @ts-expect-error an outbox that only writes does not deliver
        writer.wake,
        // @ts-expect-error an outbox that only writes does not deliver
        writer.on,
        // @ts-expect-error an outbox that only writes does not deliver
        writer.circuitBreakerState,
      ]
    }
    equal(typeof typed, 'function')
  })
})

describe('outbox.on', () => {
  it('takes the arguments of register, and types the payload alike', () => {
    const typed = async (outbox: Outbox<MemoryTx>) => {
      const listening: Outbox<MemoryTx> = outbox
        .on(Placed, (event) => void event.payload.orderId.length, { timeoutMs: 10 })
        .on(Placed, (event) => DispatchResult.dead(event.payload.orderId), {
          fallback: (event) => void event.payload.orderId,
        })
        .on('Paid', (event) => void event.payload)
        .on('Order', 'Paid', { onEvent: () => {} })
        .on(['Paid', Placed], { onEvents: () => {} })
      // @ts-expect-error orders have no total
      outbox.on(Placed, (event) => void event.payload.total)
      // @ts-expect-error there is no such option
      outbox.on(Placed, () => {}, { timeout: 10 })
      // @ts-expect-error there is no such answer
      outbox.on(Placed, () => 'done')
      const tested = await testOutbox()
      const sameTested: typeof tested = tested.on(Placed, (event) => void event.payload.orderId)
      return [listening, sameTested]
    }
    equal(typeof typed, 'function')
  })
})
