import type { Clock } from '../clock.ts'
import { OutboxError } from '../errors.ts'
import type { SafeProgress } from '../observe/safe-progress.ts'
import { callable, checkOptions, requireOptions } from '../options.ts'
import type { LookFilter, NewRow, RoutingContent, ScanPlace, StoredRow, StoreWith } from '../store/index.ts'
import { nameChecks } from '../store/names.ts'
import { scanWindow } from './limits.ts'

/** Which events to copy, and where to. */
export interface CopyOptions {
  /** The destination whose rows are copied. Default: the empty one. */
  readonly from?: string
  /** The destination that gets them. A rule or the default of the table's routing has to name it. */
  readonly to: string
  /**
   * Called after each batch with the number of events copied so far. Its faults are logged, and the copy goes
   * on.
   */
  readonly onProgress?: (copied: number) => unknown
}

/** How many rows one transaction adds. */
const batchSize = 200

const checks = {
  from: nameChecks.destination,
  to: nameChecks.destination,
  onProgress: callable,
}

/** The parts of a copy. */
export interface CopyParts<Tx> {
  readonly store: StoreWith<Tx, 'looks' | 'people' | 'actions' | 'routing'>
  readonly clock: Clock
  readonly actor: string
  readonly progress: SafeProgress
}

/**
 * Gives events another destination: copies their rows as they were written, oldest first. An event that has
 * the destination already is left alone, so that a copy can be repeated. Returns how many were copied.
 */
export async function copyEvents<Tx>(
  { store, clock, actor, progress }: CopyParts<Tx>,
  filter: LookFilter,
  options: CopyOptions,
): Promise<number> {
  checkOptions('copy', options, checks)
  requireOptions('copy', options, ['to'])
  const { from = '', to } = options
  const onProgress = progress.of('copy', options)
  await requireRouted(store, to)
  const bound = await store.looks.bound()
  const request = {
    filter: { ...filter, destination: from, bound },
    order: 'oldest',
    window: scanWindow,
  } as const
  const detail = JSON.stringify({ from, to, filter })
  let copied = 0
  let after: ScanPlace | undefined
  do {
    const { rows, next } = await store.looks.scan({ ...request, after, limit: batchSize })
    copied += await copyRows(store, rows, to, { actor, action: 'copy', detail }, clock.now())
    if (rows.length > 0) onProgress(copied)
    after = next
  } while (after !== undefined)
  if (copied > 0) await store.wakeUps?.announce().catch(() => {})
  return copied
}

async function copyRows<Tx>(
  store: StoreWith<Tx, 'people' | 'actions'>,
  rows: readonly StoredRow[],
  to: string,
  entry: { readonly actor: string; readonly action: string; readonly detail: string },
  now: number,
): Promise<number> {
  if (rows.length === 0) return 0
  let taken = await takenOf(store, rows, to)
  for (;;) {
    const added = rows.filter(({ eventId }) => !taken.has(eventId)).map((row) => copyOf(row, to, now))
    if (added.length === 0) return 0

    const keys = [...new Set(added.flatMap(({ orderingKey }) => orderingKey ?? []))]
    try {
      await store.transaction(async (tx) => {
        // In modes that keep order, the commit order of a key has to be its write order.
        if (keys.length > 0) await store.lanes?.lock({ tx, keys })
        await store.insert({ tx, rows: added })
        await store.actions.record({ entry, rows: added, tx })
      })
      return added.length
    } catch (error) {
      if (!(error instanceof OutboxError && error.code === 'OUTBOX_DUPLICATE_EVENT_ID')) throw error
      // Another copy, or a writer, has added some of them meanwhile.
      const known = taken.size
      taken = await takenOf(store, rows, to)
      if (taken.size === known) throw error
    }
  }
}

/** Returns the ids of those events that have the destination already. */
async function takenOf<Tx>(
  { people }: StoreWith<Tx, 'people'>,
  rows: readonly StoredRow[],
  to: string,
): Promise<ReadonlySet<string>> {
  const eventIds = rows.map(({ eventId }) => eventId)
  const known = await people.query({ eventIds, destination: to, limit: eventIds.length })
  return new Set(known.map(({ eventId }) => eventId))
}

function copyOf(row: StoredRow, destination: string, now: number): NewRow {
  const { eventId, eventType, aggregateType, aggregateId, tenantId, orderingKey, partitionNo } = row
  const { payload, contentType, headers, occurredAt, availableAt } = row
  return {
    eventId,
    destination,
    eventType,
    aggregateType,
    aggregateId,
    tenantId,
    orderingKey,
    partitionNo,
    payload,
    contentType,
    headers,
    occurredAt,
    due: availableAt > now && row.attempts === 0 ? { at: availableAt } : { inMs: 0 },
    idempotencyKey: null,
    claimed: false,
  }
}

async function requireRouted<Tx>(store: StoreWith<Tx, 'routing'>, to: string): Promise<void> {
  const stored = await store.routing.current()
  const content = stored === null ? undefined : (JSON.parse(stored.content) as RoutingContent)
  const known = content === undefined ? [] : [...content.rules.flatMap((rule) => rule.to), ...content.default]
  if (known.includes(to)) return
  throw new OutboxError(
    'OUTBOX_UNKNOWN_DESTINATION',
    `Events cannot be copied to "${to}", because no rule of the routing of the table sends events to it. ` +
      `Its rules and its default name ${[...new Set(known)].map((name) => `"${name}"`).join(', ') || 'none'}. ` +
      'Name it in "to" of a rule or in "default", and publish the routing with a higher version. Or correct the name.',
  )
}
