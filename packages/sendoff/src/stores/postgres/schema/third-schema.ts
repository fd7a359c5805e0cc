import type { PostgresTables } from './postgres-tables.ts'

/**
 * The third schema: the marks of the inbox by time, so that a purge finds the oldest ones of a consumer.
 * Before this revision nothing has written to the table, so this takes no time.
 */
export function thirdSchema({ table, inbox }: PostgresTables): readonly string[] {
  return [`create index if not exists "${table}_inbox_at" on ${inbox} (consumer, received_at)`]
}
