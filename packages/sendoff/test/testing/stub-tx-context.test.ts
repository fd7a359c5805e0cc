import { deepEqual, equal, rejects, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memoryStore, type MemoryTx } from '../../src/stores/memory/index.ts'
import { RecordingWriterHook, StubTxContext } from '../../src/testing/index.ts'
import { OutboxWriter } from '../../src/write/outbox-writer.ts'

/** Runs `work` with a writer in an open transaction of its own store. The stub only simulates its end. */
async function withWriter(
  work: (
    context: StubTxContext<MemoryTx>,
    writer: OutboxWriter<MemoryTx, MemoryTx>,
    hook: RecordingWriterHook,
  ) => Promise<void>,
): Promise<void> {
  const store = memoryStore()
  await store.transaction(async (tx) => {
    const context = new StubTxContext(tx)
    const hook = new RecordingWriterHook()
    await work(context, new OutboxWriter({ store, txContext: context, writerHook: hook }), hook)
  })
}

describe('a stubbed transaction', () => {
  it('hands its tx to the store, and commits when the test says so', () =>
    withWriter(async (context, writer, hook) => {
      await writer.write('Placed', 1)
      deepEqual(hook.moments, ['beforeWrite', 'afterWrite'])

      context.runAfterCommit()
      deepEqual(hook.moments, ['beforeWrite', 'afterWrite', 'afterCommit'])
      equal(context.active, false)
    }))

  it('rolls back when the test says so', () =>
    withWriter(async (context, writer, hook) => {
      await writer.write('Placed', 1)
      context.runAfterRollback()
      deepEqual(hook.moments, ['beforeWrite', 'afterWrite', 'afterRollback'])
    }))

  it('can simulate that no transaction is open', () =>
    withWriter(async (context, writer, hook) => {
      context.active = false
      await rejects(writer.write('Placed', 1), { code: 'OUTBOX_NO_TRANSACTION' })
      deepEqual(hook.moments, [])
    }))

  it('ends once, and accepts no callback afterwards', () => {
    const context = new StubTxContext({})
    context.runAfterCommit()
    throws(() => context.runAfterRollback(), /to be rolled back, but it has been committed already/)
    throws(() => context.afterCommit(() => {}), { code: 'OUTBOX_TRANSACTION_ENDED' })
  })
})
