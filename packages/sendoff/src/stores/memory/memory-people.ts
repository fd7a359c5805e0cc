import type { OutboxPeople } from '../../store/index.ts'
import type { MemoryEvents } from './memory-events.ts'
import { asStoredRow, rowIdText } from './memory-row.ts'
import type { MemoryHistory } from './settle-rows.ts'

/** The operators' part of a memory store: queries. */
export function memoryPeople(events: MemoryEvents, history: MemoryHistory): OutboxPeople {
  return {
    async query(filter) {
      return events.matching(filter, filter.limit).map(asStoredRow)
    },

    async count(filter) {
      return events.matching(filter, Infinity).length
    },

    async attempts(row) {
      return [...(history.get(rowIdText(row)) ?? [])]
    },
  }
}
