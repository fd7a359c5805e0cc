import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { EventEnvelope } from '../../src/event/event-envelope.ts'
import type { WriterHook } from '../../src/write/writer-hook.ts'
import { onEveryStore, startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'

function recordingHook(calls: string[]): WriterHook {
  const record = (moment: string) => (events: readonly EventEnvelope[]) => {
    calls.push(`${moment} ${events.map((event) => event.payloadJson).join(',')}`)
  }
  return {
    beforeWrite(events) {
      record('beforeWrite')(events)
      return events
    },
    afterWrite: record('afterWrite'),
    afterCommit: record('afterCommit'),
    afterRollback: record('afterRollback'),
  }
}

onEveryStore(
  'a hook is called once per batch at each moment',
  async (test, open) => {
    const calls: string[] = []
    const { outbox } = await startOutbox(test, open(), { writerHook: recordingHook(calls) })
    await outbox.transaction(() =>
      outbox.writeAll([EventEnvelope.ofJson('Tested', '1'), EventEnvelope.ofJson('Tested', '2')]),
    )
    deepEqual(calls, ['beforeWrite 1,2', 'afterWrite 1,2', 'afterCommit 1,2'])
  },
  ['multiNode'],
)

onEveryStore(
  'a hook is called after a rollback',
  async (test, open) => {
    const calls: string[] = []
    const { outbox } = await startOutbox(test, open(), { writerHook: recordingHook(calls) })
    await rejects(
      outbox.transaction(async () => {
        await outbox.write('Tested', 1)
        throw new Error('no')
      }),
    )
    deepEqual(calls, ['beforeWrite 1', 'afterWrite 1', 'afterRollback 1'])
  },
  ['multiNode'],
)

onEveryStore(
  'a hook can replace events, and suppress them',
  async (test, open) => {
    const answers: (readonly EventEnvelope[] | null | undefined)[] = [
      [EventEnvelope.ofJson('Tested', '"replaced"')],
      [],
      null,
      undefined,
    ]
    const { outbox, store } = await startOutbox(test, open(), {
      writerHook: { beforeWrite: () => answers.shift() },
    })
    await outbox.transaction(async () => {
      equal(typeof (await outbox.write('Tested', 1)), 'string')
      equal(await outbox.write('Tested', 2), null)
      deepEqual(await outbox.writeAll([EventEnvelope.ofJson('Tested', '3')]), [])
      equal(await outbox.write('Tested', 4), null)
    })
    deepEqual(
      (await store.people.query({ limit: 9 })).map((row) => row.payload),
      ['"replaced"'],
    )
  },
  ['multiNode'],
)

onEveryStore(
  'an error in beforeWrite aborts the write; errors of later methods are only logged',
  async (test, open) => {
    let broken = true
    const fail = () => {
      throw new Error('hook says no')
    }
    const { outbox, metrics, log } = await startOutbox(test, open(), {
      writerHook: {
        beforeWrite: (events) => (broken ? fail() : events),
        afterWrite: fail,
        afterCommit: async () => fail(),
      },
    })
    await rejects(writeTested(outbox, 1), /hook says no/)

    broken = false
    await writeTested(outbox, 2)
    await metrics.until((seen) => seen.dispatchSuccess === 1)
    equal(log.filter((line) => line.includes('hook says no')).length, 2)
    match(log.join('\n'), /afterWrite[^]*afterCommit/)
  },
  ['multiNode'],
)
