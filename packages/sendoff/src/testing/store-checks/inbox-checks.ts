import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import type { MarkAnswer, StoreWith } from '../../store/index.ts'
import type { PartCheck } from '../store-check.ts'
import { Undo } from './check-steps.ts'

const consumer = 'billing'

export const inboxChecks: readonly PartCheck[] = [
  {
    name: 'inbox: a message that was marked before is a duplicate',
    needs: ['inbox'],
    async run({ store }) {
      deepEqual(await markEach(store, ['m-1', 'm-2', 'm-1']), ['marked', 'marked', 'duplicate'])
    },
  },
  {
    name: 'inbox: the same message twice in one transaction is marked once',
    needs: ['inbox'],
    async run({ store }) {
      const answers = await store.transaction(async (tx) => [
        await store.inbox.mark({ tx, consumer, messageId: 'm-1', wait: true }),
        await store.inbox.mark({ tx, consumer, messageId: 'm-1', wait: false }),
      ])

      deepEqual(answers, ['marked', 'duplicate'])
    },
  },
  {
    name: 'inbox: the marks of different consumers are independent',
    needs: ['inbox'],
    async run({ store }) {
      equal(await mark(store, 'm-1', { consumer: 'billing' }), 'marked')
      equal(await mark(store, 'm-1', { consumer: 'shipping' }), 'marked')
      equal(await mark(store, 'm-1', { consumer: 'shipping' }), 'duplicate')
    },
  },
  {
    name: 'inbox: a mark exists only if its transaction commits',
    needs: ['inbox'],
    async run({ store }) {
      const undone = store.transaction(async (tx) => {
        equal(await store.inbox.mark({ tx, consumer, messageId: 'm-1', wait: true }), 'marked')
        throw new Undo()
      })
      await rejects(undone, Undo)

      equal(await mark(store, 'm-1'), 'marked')
    },
  },
  {
    name: 'inbox: a mark undone with a nested transaction can be made in the outer one',
    needs: ['inbox'],
    async run({ store }) {
      const answer = await store.transaction(async (tx) => {
        const nested = store.transaction(
          async (inner) => {
            await store.inbox.mark({ tx: inner, consumer, messageId: 'm-1', wait: true })
            throw new Undo()
          },
          { within: tx },
        )
        await rejects(nested, Undo)
        equal(await store.inbox.isMarked({ tx, consumer, messageId: 'm-1' }), false)
        return store.inbox.mark({ tx, consumer, messageId: 'm-1', wait: true })
      })

      equal(answer, 'marked')
      equal(await mark(store, 'm-1'), 'duplicate')
    },
  },
  {
    name: 'inbox: a mark of a nested transaction counts in the outer one',
    needs: ['inbox'],
    async run({ store }) {
      const answer = await store.transaction(async (tx) => {
        await store.transaction(
          (inner) => store.inbox.mark({ tx: inner, consumer, messageId: 'm-1', wait: true }),
          { within: tx },
        )
        return store.inbox.mark({ tx, consumer, messageId: 'm-1', wait: true })
      })

      equal(answer, 'duplicate')
    },
  },
  {
    name: 'inbox: a transaction sees its own marks and those that are committed',
    needs: ['inbox'],
    async run({ store }) {
      await mark(store, 'm-1')
      const seen = await store.transaction(async (tx) => {
        await store.inbox.mark({ tx, consumer, messageId: 'm-2', wait: true })
        const isMarked = (messageId: string) => store.inbox.isMarked({ tx, consumer, messageId })
        return [await isMarked('m-1'), await isMarked('m-2'), await isMarked('m-3')]
      })

      deepEqual(seen, [true, true, false])
    },
  },
  {
    name: 'inbox: ids differ by case, accents and spaces',
    needs: ['inbox'],
    async run({ store }) {
      const ids = ['a', 'A', 'á', 'a ', 'a  ', ' a', 'a\t', 'ａ', 'a\u0301', '😀', '%', '_', "'", '\\']

      deepEqual(new Set(await markEach(store, ids)), new Set(['marked']))
      deepEqual(new Set(await markEach(store, ids)), new Set(['duplicate']))
    },
  },
  {
    name: 'inbox: stores the longest ids and names of consumers',
    needs: ['inbox'],
    async run({ store }) {
      const longest = { consumer: 'é'.repeat(128) }
      const ids = ['ü'.repeat(255), `${'ü'.repeat(254)} `, 'ü'.repeat(254), '😀'.repeat(127)]
      for (const id of ids) equal(await mark(store, id, longest), 'marked')
      for (const id of ids) equal(await mark(store, id, longest), 'duplicate')
    },
  },
  {
    name: 'inbox: a second transaction waits for the first, and takes the message if that is undone',
    needs: ['inbox'],
    needsAnother: true,
    async run({ store, another }) {
      const second = await another!()
      equal(await waitingAnswer(store, second, 'm-1', () => {}), 'duplicate')

      const undo = () => {
        throw new Undo()
      }
      equal(await waitingAnswer(store, second, 'm-2', undo), 'marked')
      equal(await mark(store, 'm-2'), 'duplicate')
    },
  },
  {
    name: 'inbox: deletes old marks of one consumer in batches',
    needs: ['inbox'],
    async run({ store, wait }) {
      await markEach(store, ['m-1', 'm-2', 'm-3'])
      await mark(store, 'm-1', { consumer: 'shipping' })
      await wait(60)
      const none = { consumer, olderThanMs: 3_600_000, limit: 2 }
      deepEqual(await store.inbox.purge(none), { deleted: 0, cursor: undefined })

      const deleted: number[] = []
      let cursor: string | undefined
      do {
        const batch = await store.inbox.purge({ consumer, olderThanMs: 50, limit: 2, cursor })
        deleted.push(batch.deleted)
        cursor = batch.cursor
      } while (cursor !== undefined)

      deepEqual(deleted, [2, 1])
      equal(await mark(store, 'm-1', { consumer: 'shipping' }), 'duplicate')
      deepEqual(await markEach(store, ['m-1', 'm-2', 'm-3']), ['marked', 'marked', 'marked'])
    },
  },
]

function mark<Tx>(
  store: StoreWith<Tx, 'inbox'>,
  messageId: string,
  options: { readonly consumer?: string } = {},
): Promise<MarkAnswer> {
  return store.transaction((tx) => store.inbox.mark({ tx, consumer, messageId, wait: true, ...options }))
}

async function markEach<Tx>(
  store: StoreWith<Tx, 'inbox'>,
  messageIds: readonly string[],
): Promise<MarkAnswer[]> {
  const answers: MarkAnswer[] = []
  for (const messageId of messageIds) answers.push(await mark(store, messageId))
  return answers
}

/** Marks a message in two transactions at once. The first one ends with `end`. Returns the second answer. */
async function waitingAnswer<Tx>(
  first: StoreWith<Tx, 'inbox'>,
  second: StoreWith<Tx, 'inbox'>,
  messageId: string,
  end: () => void,
): Promise<MarkAnswer> {
  let isOver = false
  const marked = Promise.withResolvers<void>()
  const mayEnd = Promise.withResolvers<void>()
  const holding = first.transaction(async (tx) => {
    equal(await first.inbox.mark({ tx, consumer, messageId, wait: true }), 'marked')
    marked.resolve()
    await mayEnd.promise
    // A statement of the second transaction is on its way to the database now.
    await first.inbox.isMarked({ tx, consumer, messageId })
    isOver = true
    end()
  })
  await marked.promise
  const answer = mark(second, messageId).finally(() => ok(isOver, 'the second transaction has to wait'))
  mayEnd.resolve()
  await holding.catch((error: unknown) => {
    if (!(error instanceof Undo)) throw error
  })
  return answer
}
