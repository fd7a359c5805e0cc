import type { OutboxPeople } from '../../store/index.ts'
import type { OwnDriver } from './drivers/own-driver.ts'
import { countRows, failedAttempts, queryRows } from './query-rows.ts'

/** The operators' part of an SQLite store: queries. */
export function sqlitePeople(own: OwnDriver): OutboxPeople {
  return {
    query: (filter) => queryRows(own, filter),
    count: (filter) => countRows(own, filter),
    attempts: (row) => failedAttempts(own, row),
  }
}
