import { deepEqual, equal, rejects } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EventEnvelope } from '../../src/event/event-envelope.ts'
import { RecordingWriterHook, testOutbox } from '../../src/testing/index.ts'

describe('a recording writer hook', () => {
  it('sees the commit', async (test) => {
    const writerHook = new RecordingWriterHook()
    const outbox = await testOutbox({ writerHook })
    test.after(() => outbox.close())
    await outbox.transaction(() => outbox.write('Placed', 1))

    deepEqual(writerHook.moments, ['beforeWrite', 'afterWrite', 'afterCommit'])
    equal(writerHook.committed[0]?.payload, 1)
    deepEqual(writerHook.rolledBack, [])
  })

  it('sees the rollback', async (test) => {
    const writerHook = new RecordingWriterHook()
    const outbox = await testOutbox({ writerHook })
    test.after(() => outbox.close())
    await rejects(
      outbox.transaction(async () => {
        await outbox.write('Placed', 1)
        await outbox.write('Paid', 2)
        throw new Error('no stock')
      }),
      /no stock/,
    )

    deepEqual(
      writerHook.rolledBack.map((event) => event.eventType),
      ['Placed', 'Paid'],
    )
    deepEqual(writerHook.written, writerHook.rolledBack)
    deepEqual(writerHook.committed, [])
    deepEqual(await outbox.written(), [])
  })

  it('lets a test decide what is written', async (test) => {
    const replaced = EventEnvelope.ofJson('Placed', '"replaced"')
    const writerHook = new RecordingWriterHook((events) =>
      events[0]?.eventType === 'Placed' ? [replaced] : null,
    )
    const outbox = await testOutbox({ writerHook })
    test.after(() => outbox.close())
    await outbox.transaction(async () => {
      await outbox.write('Placed', 1)
      equal(await outbox.write('Paid', 2), null)
    })

    deepEqual(writerHook.moments, ['beforeWrite', 'afterWrite', 'beforeWrite', 'afterCommit'])
    equal((await outbox.written())[0]?.payload, 'replaced')
  })
})
