import { deepEqual, equal, match, notEqual, rejects } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { KeyRing, MailOutboxWorker, SuppressionList } from '../../src/mail/index.ts'
import type { OutboxStore, StoreWith } from '../../src/store/index.ts'
import { type AnyMailOutbox, enqueue, openMail, startWorker, until, welcome } from './mail-fixture.ts'
import { RecordingTransport } from './recording-transport.ts'

export interface MailStores {
  /**
   * Opens a store on an empty table of this name. A second call opens the same table, as another process
   * would.
   */
  open(test: TestContext, table: string): StoreWith<any, 'people'> | Promise<StoreWith<any, 'people'>>
  /** Opens stores on two tables of one database, if one database can have two. */
  openBeside?(
    test: TestContext,
    tables: readonly [string, string],
  ): Promise<readonly StoreWith<any, 'people'>[]>
}

const longMs = 600_000
let tables = 0

// A worker purges once when it starts.
async function purge(outbox: AnyMailOutbox, retention: object): Promise<void> {
  const transports = { default: new RecordingTransport() }
  const worker = new MailOutboxWorker({ outbox, transports, logger: false, ...retention })
  await worker.start()
  await worker.close()
}

/** Declares the promises of a mail outbox on every store. */
export function describeMailOutbox(name: string, stores: MailStores): void {
  const open: MailStores['open'] = (test, table) => stores.open(test, table)
  const newTable = () => `mail_${process.pid}_${++tables}`
  const newMail = async (test: TestContext, table = newTable()) => openMail(test, await open(test, table))
  const count = async (store: OutboxStore<any>) => store.people!.count({})

  describe(`a mail outbox on ${name}`, () => {
    it('takes a mail from NEW through SENDING to SENT', async (test) => {
      const mail = await newMail(test)
      const id = await enqueue(mail)
      equal((await mail.find(id))!.state, 'NEW')

      const [claimed, ...others] = await mail.claimBatch(10, longMs)
      deepEqual(others, [])
      equal(claimed!.id, id)
      equal(claimed!.provider, 'default')
      equal(claimed!.message.text, 'Hello Ada')
      equal(claimed!.messageId, `<${id}@sendoff.example>`)
      equal((await mail.find(id))!.state, 'SENDING')

      await mail.markDispatched(id)
      const { state, sentAt } = (await mail.find(id))!
      equal(state, 'SENT')
      equal(sentAt instanceof Date, true)
      deepEqual(await mail.claimBatch(10, longMs), [])
    })

    it('rolls back a transaction with a refused mail, even if the error was not awaited', async (test) => {
      const mail = await newMail(test)
      await rejects(
        mail.transaction(async () => {
          await mail.enqueue(welcome)
          void mail.enqueue({ ...welcome, to: 'nowhere' })
        }),
        { code: 'OUTBOX_INVALID_MAIL' },
      )
      equal(await count(mail.store), 0)
    })

    it('returns the first id for a used key, and stores nothing', async (test) => {
      const mail = await newMail(test)
      const first = await enqueue(mail, {}, { idempotencyKey: 'order-1' })
      equal(await enqueue(mail, { text: 'Again' }, { idempotencyKey: 'order-1' }), first)
      notEqual(await enqueue(mail, {}, { idempotencyKey: 'order-2' }), first)
      equal(await count(mail.store), 2)
    })

    it('treats a blank key as none', async (test) => {
      const mail = await newMail(test)
      notEqual(
        await enqueue(mail, {}, { idempotencyKey: ' ' }),
        await enqueue(mail, {}, { idempotencyKey: ' ' }),
      )
      equal(await count(mail.store), 2)
    })

    it('stores one mail for 50 callers at once with the same key, and returns its id to all of them', async (test) => {
      const mail = await newMail(test)
      const ids = await Promise.all(
        Array.from({ length: 50 }, () => enqueue(mail, {}, { idempotencyKey: 'once' })),
      )
      equal(new Set(ids).size, 1)
      equal(await count(mail.store), 1)
    })

    it('keeps nothing of a transaction that was rolled back, nor its key', async (test) => {
      const mail = await newMail(test)
      const rolledBack = mail.transaction(async () => {
        await mail.enqueue(welcome, { idempotencyKey: 'undone' })
        throw new Error('no')
      })
      await rejects(rolledBack, /^Error: no$/)
      equal(await count(mail.store), 0)

      const id = await enqueue(mail, {}, { idempotencyKey: 'undone' })
      equal((await mail.find(id))!.state, 'NEW')
    })

    const inAnother = 'writes in the transaction of another outbox on the same database'
    const writesInAnother = async (test: TestContext) => {
      const [events, store] = await stores.openBeside!(test, [newTable(), newTable()])
      test.after(() => events!.close())
      await events!.migrate()
      const mail = await openMail(test, store!)
      const transport = new RecordingTransport()
      await startWorker(test, mail, transport)
      const undone = events!.transaction(async (tx) => {
        await mail.enqueue({ ...welcome, subject: 'undone' }, { tx })
        throw new Error('no')
      })
      await rejects(undone, /^Error: no$/)
      await events!.transaction((tx) => mail.enqueue({ ...welcome, subject: 'kept' }, { tx }))
      await until(
        async () => transport.sent.length,
        (sent) => sent > 0,
      )
      deepEqual(
        transport.sent.map(({ subject }) => subject),
        ['kept'],
      )
      equal(await count(mail.store), 1)
    }
    if (stores.openBeside !== undefined) it(inAnother, writesInAnother)

    it('rejects if a mail cannot be stored, whether or not it has a key', async (test) => {
      const mail = await newMail(test)
      await enqueue(mail, {}, { idempotencyKey: 'used' })
      for (const idempotencyKey of ['used', 'unused', undefined]) {
        const options = idempotencyKey === undefined ? {} : { idempotencyKey }
        await rejects(mail.enqueue(welcome, options), { code: 'OUTBOX_NO_TRANSACTION' })
        let endedTx: unknown
        await mail.transaction(async (tx) => void (endedTx = tx))
        await rejects(mail.enqueue(welcome, { ...options, tx: endedTx }), {
          code: /^OUTBOX_(TRANSACTION_ENDED|NO_TRANSACTION)$/,
        })
      }
      equal(await count(mail.store), 1)
    })

    it('hands a mail to one claimer at a time, and to the next when the lease has run out', async (test) => {
      const table = newTable()
      const first = await newMail(test, table)
      const second = await newMail(test, table)
      const id = await enqueue(first)
      await first.claimBatch(10, 30)
      const [taken] = await until(
        () => second.claimBatch(10, longMs),
        (mails) => mails.length > 0,
      )
      equal(taken!.id, id)

      await rejects(first.markDispatched(id), { code: 'OUTBOX_LEASE_LOST' })
      await rejects(first.recordFailure(id, 1, new Error('late'), new Date(), true), {
        code: 'OUTBOX_LEASE_LOST',
      })
      equal((await second.find(id))!.state, 'SENDING')
      await second.markDispatched(id)
      equal((await second.find(id))!.state, 'SENT')
      await rejects(second.markDispatched(id), { code: 'OUTBOX_LEASE_LOST' })
    })

    it('hands disjoint batches to claimers at the same time', async (test) => {
      const table = newTable()
      const claimers = [await newMail(test, table), await newMail(test, table), await newMail(test, table)]
      const ids = await claimers[0]!.transaction(async () => {
        const written: string[] = []
        for (let number = 0; number < 12; number++) written.push(await claimers[0]!.enqueue(welcome))
        return written
      })
      const batches = await Promise.all(claimers.map((claimer) => claimer.claimBatch(4, longMs)))
      deepEqual(batches.flatMap((batch) => batch.map(({ id }) => id)).toSorted(), ids.toSorted())
    })

    it('makes a failed mail due again at the given time, and counts the attempt', async (test) => {
      const mail = await newMail(test)
      const id = await enqueue(mail)
      await mail.claimBatch(1, longMs)
      await rejects(mail.recordFailure(id, 7, 'x', new Date(), false), { code: 'OUTBOX_INVALID_OPTION' })
      await mail.recordFailure(id, 1, new TypeError('busy'), new Date(Date.now() + longMs), false)
      const later = (await mail.find(id))!
      equal(later.state, 'NEW')
      equal(later.attempts, 1)
      equal(later.lastError, 'TypeError: busy')
      deepEqual(await mail.claimBatch(1, longMs), [])

      const other = await enqueue(mail)
      await mail.claimBatch(1, longMs)
      await mail.recordFailure(other, 1, 'busy', new Date(), false)
      const [again] = await until(
        () => mail.claimBatch(1, longMs),
        (mails) => mails.length > 0,
      )
      equal(again!.id, other)
      equal(again!.attempts, 1)
    })

    it('lists mails that were given up, shows them, and sends them again when asked', async (test) => {
      const mail = await newMail(test)
      const id = await enqueue(mail, { html: '<b>Hello</b>' }, { provider: 'bulk' })
      await mail.claimBatch(1, longMs)
      await mail.recordFailure(id, 1, new Error('over'), new Date(), true)
      const [failed, ...others] = await mail.failed({ provider: 'bulk' })
      deepEqual(others, [])
      deepEqual(await mail.failed({ provider: 'default' }), [])
      equal(failed!.id, id)
      equal(failed!.state, 'FAILED')
      equal(failed!.lastError, 'Error: over')
      equal((await mail.preview(id))!.html, '<b>Hello</b>')

      equal(await mail.replay(id), true)
      equal((await mail.claimBatch(1, longMs))[0]!.id, id)
      equal((await mail.attempts(id)).length, 1)
    })

    it('keeps a mail back until its time', async (test) => {
      const mail = await newMail(test)
      const sendAt = new Date(Date.now() + longMs)
      const id = await enqueue(mail, {}, { sendAt })
      deepEqual(await mail.claimBatch(1, longMs), [])
      deepEqual((await mail.find(id))!.sendAt, sendAt)
      const past = await enqueue(mail, {}, { sendAt: new Date(0) })
      equal((await mail.claimBatch(1, longMs))[0]!.id, past)
    })

    it('sends mails that are enqueued beside a worker right after the commit, each once', async (test) => {
      const mail = await newMail(test)
      const transport = new RecordingTransport()
      const worker = await startWorker(test, mail, transport)
      for (let number = 1; number <= 20; number++) await enqueue(mail, { subject: `Number ${number}` })
      await until(
        async () => transport.sent.length,
        (sent) => sent >= 20,
      )
      await worker.drain()
      deepEqual(
        transport.sent.map(({ subject }) => subject).toSorted(),
        Array.from({ length: 20 }, (_, index) => `Number ${index + 1}`).toSorted(),
      )
      await worker.close()
      equal((await mail.failed()).length, 0)
      equal(typeof (await enqueue(mail)), 'string')
    })

    it('leaves mails to the workers that have their transport', async (test) => {
      const table = newTable()
      const [first, second] = [await newMail(test, table), await newMail(test, table)]
      const [old, added] = [new RecordingTransport(), new RecordingTransport()]
      const before = await startWorker(test, first, old)
      const ids = await first.transaction(async () => {
        const written: string[] = []
        for (let number = 0; number < 20; number++) {
          written.push(await first.enqueue(welcome, { provider: number % 2 === 0 ? 'added' : 'default' }))
        }
        return written
      })
      await before.drain()
      await before.close()
      deepEqual(await first.failed(), [])
      const states = await Promise.all(ids.map(async (id) => (await first.find(id))!.state))
      deepEqual(new Set(states), new Set(['NEW', 'SENT']))

      await startWorker(test, second, old, { transports: { default: old, added } })
      const late = await enqueue(second, {}, { provider: 'added' })
      await until(
        () => second.find(late),
        (found) => found!.state === 'SENT',
      )
      deepEqual(await second.failed(), [])
      equal(old.sent.length, 10)
    })

    it('stores nothing readable under a key ring', async (test) => {
      const keyRing = new KeyRing({ current: 'k1', keys: { k1: Buffer.alloc(32, 1) } })
      const mail = await openMail(test, await open(test, newTable()), { keyRing })
      const id = await enqueue(mail, { html: '<p>Secret</p>' })
      const [row] = await mail.store.people!.query({ limit: 1 })
      const stored = Buffer.from(row!.payload as Uint8Array).toString('latin1')
      for (const word of ['ada@', 'Hello', 'Secret', 'Welcome']) equal(stored.includes(word), false, word)

      const [claimed] = await mail.claimBatch(1, longMs)
      equal(claimed!.message.html, '<p>Secret</p>')
      equal((await mail.preview(id))!.text, 'Hello Ada')
    })

    it('removes the texts of mails when they have been kept long enough, but not their keys', async (test) => {
      const mail = await newMail(test)
      const id = await enqueue(mail, {}, { idempotencyKey: 'kept' })
      await mail.claimBatch(1, longMs)
      await mail.markDispatched(id)
      await until(
        () => purge(mail, { bodyRetentionMs: 1 }).then(() => mail.find(id)),
        (found) => found === undefined,
      )
      equal(await enqueue(mail, {}, { idempotencyKey: 'kept' }), id)
      equal(await count(mail.store), 0)
    })

    it('removes only failed mails if configured so', async (test) => {
      const mail = await newMail(test)
      const sent = await enqueue(mail)
      const failed = await enqueue(mail)
      await mail.claimBatch(2, longMs)
      await mail.markDispatched(sent)
      await mail.recordFailure(failed, 1, 'no', new Date(), true)
      await until(
        () => purge(mail, { failedRetentionMs: 1 }).then(() => mail.find(failed)),
        (found) => found === undefined,
      )
      equal((await mail.find(sent))!.state, 'SENT')
    })
  })

  describe(`a suppression list on ${name}`, () => {
    it('returns the reason of each address on it, until the address is removed', async (test) => {
      const list = new SuppressionList({ store: await open(test, newTable()) })
      test.after(() => list.close())
      await list.initSchema()
      equal(await list.add('Ada@example.com', 'complained'), true)
      equal(await list.add('ada@EXAMPLE.com', 'bounced'), false)
      await list.add('bob@example.com', 'bounced')

      const asked = ['ada@example.com', 'bob@example.com', 'eve@example.com']
      deepEqual(
        [...(await list.find(asked))],
        [
          ['ada@example.com', 'complained'],
          ['bob@example.com', 'bounced'],
        ],
      )
      deepEqual(
        (await list.list()).map(({ address, reason }) => `${address} ${reason}`),
        ['Ada@example.com complained', 'bob@example.com bounced'],
      )
      equal(await list.remove('ADA@example.com'), true)
      equal(await list.remove('ada@example.com'), false)
      deepEqual([...(await list.find(asked)).keys()], ['bob@example.com'])
      equal(await list.add('ada@example.com', 'again'), true)
      match((await list.find(asked)).get('ada@example.com')!, /^again$/)
    })
  })
}
