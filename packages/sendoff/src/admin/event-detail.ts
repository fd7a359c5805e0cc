import type {
  AuditEntry,
  FailedAttempt,
  LookFilter,
  ScanOrder,
  StoredRow,
  StoreWith,
} from '../store/index.ts'
import { scanWindow } from './limits.ts'

/** Everything about one row of an event. */
export interface EventDetail {
  /** The row. Payload and headers are exactly as they are stored. */
  readonly row: StoredRow
  /** Every failed attempt, oldest first. */
  readonly attempts: readonly FailedAttempt[]
  /** What operators did to it, oldest first: up to 100 of the newest entries. */
  readonly audit: readonly AuditEntry[]
  /**
   * Events of the same ordering key, or else of the same aggregate, that were written next to it. The search
   * examines 2,000 events on each side.
   */
  readonly neighbours: { readonly before: readonly StoredRow[]; readonly after: readonly StoredRow[] }
}

const neighbourCount = 5
const auditCount = 100

/** Reads one event; undefined if there is none. */
export async function readEvent<Tx>(
  store: StoreWith<Tx, 'people' | 'looks' | 'actions'>,
  eventId: string,
  destination: string,
): Promise<EventDetail | undefined> {
  const rows = await store.people.query({ eventId, limit: 1_000 })
  const row = rows.find((each) => each.destination === destination)
  if (row === undefined) return undefined

  const [attempts, audit, before, after] = await Promise.all([
    store.people.attempts(row),
    store.actions.auditOf({ row, limit: auditCount }),
    neighboursOf(store, row, 'newest'),
    neighboursOf(store, row, 'oldest'),
  ])
  return { row, attempts, audit, neighbours: { before, after } }
}

async function neighboursOf<Tx>(
  { looks }: StoreWith<Tx, 'looks'>,
  row: StoredRow,
  order: ScanOrder,
): Promise<readonly StoredRow[]> {
  const filter = likeIt(row)
  if (filter === undefined) return []
  const { rows } = await looks.scan({ filter, order, after: row, limit: neighbourCount, window: scanWindow })
  return rows
}

function likeIt({ orderingKey, aggregateType, aggregateId, destination }: StoredRow): LookFilter | undefined {
  if (orderingKey !== null) return { orderingKey, destination }
  return aggregateId === null ? undefined : { aggregateType, aggregateId, destination }
}
