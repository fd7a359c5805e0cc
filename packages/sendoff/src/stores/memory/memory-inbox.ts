import type { InboxMark, OutboxInbox } from '../../store/index.ts'
import type { MemoryEvents } from './memory-events.ts'
import type { MemoryTx } from './memory-transaction.ts'

/** The inbox of a memory store. Transactions run one at a time, so no message is ever busy. */
export function memoryInbox(now: () => number, events: MemoryEvents): OutboxInbox<MemoryTx> {
  return {
    async mark(request) {
      const { tx, consumer } = request
      const name = nameOf(request)
      tx.assertOpen()
      if (tx.findMark(name) !== undefined) return 'duplicate'
      tx.addMark(name, { consumer, receivedAt: now() })
      return 'marked'
    },

    async isMarked(mark) {
      mark.tx.assertOpen()
      return mark.tx.findMark(nameOf(mark)) !== undefined
    },

    async purge({ consumer, olderThanMs, limit }) {
      // A purge with a limit of 0 would never end.
      const most = Math.max(1, limit)
      const deleted = events.deleteMarks(consumer, now() - olderThanMs, most)
      return { deleted, cursor: deleted < most ? undefined : 'more' }
    },
  }
}

// Neither of them has a NUL.
function nameOf({ consumer, messageId }: InboxMark<MemoryTx>): string {
  return `${consumer}\0${messageId}`
}
