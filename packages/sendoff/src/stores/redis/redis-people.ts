import type { OutboxPeople } from '../../store/index.ts'
import type { RunScript } from './drivers/run-script.ts'
import { countRows, failedAttempts, queryRows } from './query-rows.ts'

/** The operators' part of a Redis store: queries. */
export function redisPeople(run: RunScript): OutboxPeople {
  return {
    query: (filter) => queryRows(run, filter),
    count: (filter) => countRows(run, filter),
    attempts: (row) => failedAttempts(run, row),
  }
}
