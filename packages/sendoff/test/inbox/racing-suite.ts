import { deepEqual, equal, ok } from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { describe, it, type TestContext } from 'node:test'
import { Inbox, type ProcessOutcome } from '../../src/inbox/index.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { type DatabaseKind, type EffectsDatabase, openDatabase } from './effects-database.ts'

const script = new URL('consumer-process.ts', import.meta.url)
const messages = process.env['SENDOFF_TEST_SCALE'] === 'full' ? 10_000 : 300

/** Tests consumers in processes of their own, on a database that they share. */
export function describeRacing(kind: DatabaseKind, newPlace: (test: TestContext) => Promise<string>): void {
  describe(`consumers in several processes on ${kind}`, () => {
    it(`race on ${messages} messages, and each has one effect`, async (test) => {
      const { database, place } = await open(test)
      const racers = [await consumer(test, place, 'wait'), await consumer(test, place, 'do not wait')]
      const first = [0, 0]
      for (let message = 0; message < messages; message += 1) {
        const outcomes = await Promise.all(racers.map((racer) => outcomeOf(racer, `m-${message}`)))
        deepEqual([...outcomes].sort(), ['duplicate', 'processed'])
        first[outcomes.indexOf('processed')]! += 1
      }

      const expected = Array.from({ length: messages }, (_, index) => `m-${index}`)
      deepEqual((await database.effects()).sort(), expected.sort())
      ok(
        first.every((count) => count > 0),
        `one process won all races: ${first.join()}`,
      )
    })

    it('that is killed between handler and commit leaves the message to the other', async (test) => {
      const { database, place, inbox } = await open(test)
      const child = await consumer(test, place, 'wait')
      const handled = once(child, 'message')
      child.send('hang')
      await handled
      const handler = (tx: unknown) => database.addEffect(tx, 'hang')
      const waiting = inbox.process('hang', handler)
      child.kill('SIGKILL')
      equal(await waiting, 'processed')
      equal(await inbox.process('hang', handler), 'duplicate')
      deepEqual(await database.effects(), ['hang'])
    })
  })

  async function open(
    test: TestContext,
  ): Promise<{ database: EffectsDatabase; place: string; inbox: Inbox<any> }> {
    const place = await newPlace(test)
    const database = openDatabase(kind, place)
    const outbox = await Outbox.writerOnly({ store: database.store, logger: false }).start()
    await database.createEffects()
    test.after(async () => {
      await outbox.close()
      await database.close()
    })
    return { database, place, inbox: new Inbox({ outbox, consumer: 'billing' }) }
  }

  async function consumer(test: TestContext, place: string, waiting: string): Promise<ChildProcess> {
    const child = fork(script, [kind, place, waiting])
    test.after(() => child.kill('SIGKILL'))
    await once(child, 'message')
    return child
  }
}

/** Returns what became of a message in the end, when it was no longer busy. */
async function outcomeOf(child: ChildProcess, id: string): Promise<ProcessOutcome> {
  const answer = once(child, 'message') as Promise<[ProcessOutcome[]]>
  child.send(id)
  return (await answer)[0].at(-1)!
}
