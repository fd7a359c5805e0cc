import type { GrownTable } from './rebuilt-table.ts'

/** The tables of the first schema that got columns later, as the first schema defines them. */
export const grownTables: readonly GrownTable[] = [
  {
    table: 'node',
    key: 'id',
    columns: ['id', 'mode', 'started_at', 'until'],
    definitions: `  id         text primary key,
  mode       text,
  started_at integer not null,
  until      integer not null`,
    options: 'strict, without rowid',
  },
  {
    table: 'audit',
    key: 'id',
    columns: ['id', 'at', 'actor', 'action', 'detail'],
    definitions: `  id     integer primary key,
  at     integer not null,
  actor  text,
  action text    not null,
  detail text`,
    options: 'strict',
  },
]
