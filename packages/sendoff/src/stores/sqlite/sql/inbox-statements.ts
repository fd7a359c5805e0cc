import type { SqliteTables } from '../schema/sqlite-tables.ts'

/** The statements of the inbox. */
export function inboxStatementsFor({ inbox }: SqliteTables) {
  return {
    // ? consumer, ? message id, ? now. By primary key.
    mark: `
  insert into ${inbox} (consumer, message_id, received_at)
  values (?, ?, ?)
      on conflict (consumer, message_id) do nothing`,

    // ? consumer, ? message id. By primary key.
    isMarked: `select 1 from ${inbox} where consumer = ? and message_id = ?`,

    // ? consumer, ? before, ? limit. The oldest by <table>_inbox_at alone, then by primary key.
    purgeMarks: `
  delete from ${inbox}
   where (consumer, message_id) in (
         select consumer, message_id
           from ${inbox}
          where consumer = ? and received_at < ?
          order by received_at
          limit ?)`,
  } as const
}
