import { deepEqual, equal, rejects } from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Inbox } from '../../src/inbox/inbox.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import type { WriterOutbox } from '../../src/outbox/writer-outbox.ts'
import type { StoreWith } from '../../src/store/index.ts'
import { Gate } from '../fixtures/gate.ts'
import type { TestDatabase } from './test-database.ts'
import type { Subject } from './transactions-suite.ts'

/** Tests an inbox that marks messages in the transactions of an ORM or a driver. */
export function describeInbox<Tx, Options>(
  given: () => { readonly database: TestDatabase; readonly subject: Subject<Tx, Options> },
): void {
  describe('an inbox in its transactions', () => {
    let store: StoreWith<any, 'people'>
    let outbox: WriterOutbox<Tx, any, Options>
    let inbox: Inbox<Tx, any, Options>

    before(async () => {
      store = given().database.store('inbox_test')
      outbox = (await Outbox.writerOnly({
        store,
        transactions: given().subject.transactions as never,
        logger: false,
      }).start()) as never
      inbox = new Inbox({ outbox, consumer: 'billing' })
    })
    after(() => outbox?.close())

    const addOrder = (tx: Tx, id: string) => given().subject.addOrder(tx, id)
    const orders = (prefix: string) => given().database.orders(prefix)
    const events = (eventType: string) => store.people.count({ eventType })

    it('keeps mark, data and events together, and processes a message once', async () => {
      const handler = async (tx: Tx) => {
        await addOrder(tx, 'once-1')
        await outbox.write('Once', 1)
      }
      equal(await inbox.process('once', handler), 'processed')
      equal(await inbox.process('once', handler), 'duplicate')
      deepEqual(await orders('once'), ['once-1'])
      equal(await events('Once'), 1)
    })

    it('undoes all of them if the handler fails', async () => {
      const failing = inbox.process('failing', async (tx) => {
        await addOrder(tx, 'failing-1')
        await outbox.write('Failing', 1)
        throw new Error('no funds')
      })
      await rejects(failing, /no funds/)
      deepEqual(await orders('failing'), [])
      equal(await events('Failing'), 0)
      equal(await inbox.process('failing', (tx) => addOrder(tx, 'failing-2')), 'processed')
    })

    it('joins a transaction of the outbox, and shares its fate', async () => {
      const undone = outbox.transaction(async (tx) => {
        await addOrder(tx, 'ambient-lost-1')
        equal(await inbox.process('ambient', (part) => addOrder(part, 'ambient-lost-2')), 'processed')
        throw new Error('the outer work failed')
      })
      await rejects(undone, /the outer work failed/)

      await outbox.transaction(async (tx) => {
        await addOrder(tx, 'ambient-1')
        const failing = inbox.process('ambient', async (part) => {
          await addOrder(part, 'ambient-lost-3')
          throw new Error('the handler failed')
        })
        await rejects(failing, /the handler failed/)
        equal(await inbox.process('ambient', (part) => addOrder(part, 'ambient-2')), 'processed')
        equal(await inbox.process('ambient', () => {}), 'duplicate')
      })
      deepEqual(await orders('ambient'), ['ambient-1', 'ambient-2'])
      equal(await inbox.process('ambient', () => {}), 'duplicate')
    })

    it('joins a transaction that other code opened, and shares its fate', async () => {
      const open: Subject<Tx, Options>['open'] = (work) => given().subject.open(work)
      const undone = open(async (tx) => {
        equal(await inbox.process('named', () => outbox.write('Named', 'lost'), { tx }), 'processed')
        throw new Error('the outer work failed')
      })
      await rejects(undone, /the outer work failed/)

      await open(async (tx) => {
        await addOrder(tx, 'named-1')
        const failing = inbox.process(
          'named',
          async (part) => {
            await addOrder(part, 'named-lost')
            throw new Error('the handler failed')
          },
          { tx },
        )
        await rejects(failing, /the handler failed/)
        const handler = async (part: Tx) => {
          await addOrder(part, 'named-2')
          await outbox.write('Named', 'kept')
        }
        equal(await inbox.process('named', handler, { tx }), 'processed')
        equal(await inbox.process('named', handler, { tx }), 'duplicate')
        await addOrder(tx, 'named-3')
      })
      deepEqual(await orders('named'), ['named-1', 'named-2', 'named-3'])
      equal(await events('Named'), 1)
      equal(await inbox.process('named', () => {}), 'duplicate')
    })

    it('refuses a handle without a transaction', async () => {
      const tx = given().subject.outside as Tx
      await rejects(
        inbox.process('outside', () => {}, { tx }),
        { code: 'OUTBOX_NO_TRANSACTION' },
      )
      equal(await inbox.process('outside', () => {}), 'processed')
    })

    it('never reports a message as processed whose effects the database undid', async () => {
      const { database } = given()
      const goesOn = database.afterFailedStatement === 'goes on'
      const swallowing = async (tx: Tx) => {
        await addOrder(tx, 'swallowed-inbox-1')
        await Promise.resolve(addOrder(tx, 'swallowed-inbox-1')).catch(() => {})
      }
      const joined = () => outbox.transaction(() => inbox.process('swallowed', swallowing))
      const named = () => given().subject.open((tx) => inbox.process('swallowed', swallowing, { tx }))
      if (goesOn) {
        equal(await inbox.process('swallowed', swallowing), 'processed')
        deepEqual(await orders('swallowed-inbox'), ['swallowed-inbox-1'])
      } else {
        for (const run of [() => inbox.process('swallowed', swallowing), joined, named]) {
          await rejects(run())
          deepEqual(await orders('swallowed-inbox'), [])
        }
        equal(await inbox.process('swallowed', () => {}), 'processed')
      }
    })

    it('waits for a transaction that has the message in hand, or returns busy', async () => {
      for (const fails of [false, true]) {
        const id = `held-${fails}`
        const [held, mayEnd] = [new Gate(), new Gate()]
        const holding = inbox.process(id, async () => {
          held.open()
          await mayEnd.passed
          if (fails) throw new Error('the first one failed')
        })
        await held.passed
        equal(await inbox.process(id, neverRun, { wait: false }), 'busy')
        await outbox.transaction(async (tx) => {
          equal(await inbox.process(id, neverRun, { wait: false }), 'busy')
          await addOrder(tx, `${id}-goes-on`)
        })
        let runs = 0
        const waiting = inbox.process(id, () => void (runs += 1))
        mayEnd.open()

        if (fails) await rejects(holding, /the first one failed/)
        else equal(await holding, 'processed')
        equal(await waiting, fails ? 'processed' : 'duplicate')
        equal(runs, fails ? 1 : 0)
        deepEqual(await orders(id), [`${id}-goes-on`])
      }
    })

    it('runs again as a whole after a conflict of serializable transactions', async () => {
      const transaction = given().subject.serializable
      for (let round = 0; round < 5; round += 1) {
        const handler = (tx: Tx) => addOrder(tx, `serial-${round}`)
        const race = ['a', 'b', 'c'].map(() => inbox.process(`serial-${round}`, handler, { transaction }))
        deepEqual((await Promise.all(race)).sort(), ['duplicate', 'duplicate', 'processed'])
      }
      equal((await orders('serial')).length, 5)
    })

    it('runs again as a whole after a deadlock', async () => {
      const { subject } = given()
      await subject.transactions.transaction(async (tx) => {
        await addOrder(tx, 'deadlock-a')
        await addOrder(tx, 'deadlock-b')
      })
      const gates = { 'deadlock-a': new Gate(), 'deadlock-b': new Gate() }
      const add = (tx: Tx, id: string) =>
        subject.run(tx, `update orders set total = total + 1 where id = '${id}'`)
      const crossing = (first: keyof typeof gates, second: keyof typeof gates) => async (tx: Tx) => {
        await add(tx, first)
        gates[first].open()
        await gates[second].passed
        await add(tx, second)
      }
      const outcomes = await Promise.all([
        inbox.process('deadlock-1', crossing('deadlock-a', 'deadlock-b')),
        inbox.process('deadlock-2', crossing('deadlock-b', 'deadlock-a')),
      ])
      deepEqual(outcomes, ['processed', 'processed'])
      const rows = await given().database.query(`select total from orders where id like 'deadlock-%'`)
      deepEqual(
        rows.map(({ total }) => Number(total)),
        [2, 2],
      )
    })
  })
}

function neverRun(): never {
  throw new Error('the handler must not run')
}
