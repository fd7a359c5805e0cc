import { OutboxError } from '../errors.ts'
import { encodePayload } from '../event/encode-payload.ts'
import { EventEnvelope } from '../event/event-envelope.ts'
import type { DefinedEvent } from '../event/event-type.ts'
import { versionHeader } from '../event/event-versions.ts'
import { JsonCodec } from '../event/json-codec.ts'
import { describeIssues, type StandardSchema } from '../event/standard-schema.ts'
import { checkOptions } from '../options.ts'
import { isPending } from '../store/event-status.ts'
import type { NewRow, StoredRow, StoreWith } from '../store/index.ts'
import { nameChecks } from '../store/names.ts'

/** The header of a new event that names the event which it replaces. */
export const replacesHeader = 'sendoff-replaces'

/** An event type of any payload, as `defineEvent` returns it. */
export type AnyDefinedEvent = Pick<
  DefinedEvent<never, unknown>,
  'name' | 'aggregateType' | 'aliases' | 'version'
> & { readonly schema: PayloadCheck | undefined }

/** The part of a schema that checks a payload. It does not depend on the type of the payload. */
export interface PayloadCheck {
  readonly '~standard': Pick<StandardSchema['~standard'], 'validate'>
}

/** Options of `replayEdited`. */
export interface ReplacementOptions {
  /** The destination of the event to replace. Default: the empty one. */
  readonly destination?: string
}

/** The event that was written in place of another. */
export interface Replacement {
  readonly eventId: string
  /** False if the event was replaced before: it is replaced once. */
  readonly isNew: boolean
}

/** Writes a new event with another payload in place of a settled one. */
export async function replaceEvent<Tx>(
  store: StoreWith<Tx, 'people' | 'actions'>,
  actor: string,
  events: readonly AnyDefinedEvent[],
  eventId: string,
  payload: unknown,
  options: ReplacementOptions,
): Promise<Replacement> {
  checkOptions('replayEdited', options, { destination: nameChecks.destination })
  const { destination = '' } = options
  const rows = await store.people.query({ eventId, limit: 1_000 })
  const row = rows.find((each) => each.destination === destination)
  if (row === undefined) throw noEvent(eventId, destination)
  if (isPending(row.status)) throw stillPending(eventId)

  const definition = events.find((event) => isDefinedBy(row, event))
  await checkPayload(row, payload, definition)
  const added = replacementOf(row, payload, definition)
  const detail = JSON.stringify({ replaces: eventId, ...(destination !== '' && { destination }) })
  const entry = { actor, action: 'replayEdited', detail }

  const result = await store.transaction(async (tx) => {
    // In modes that keep order, the commit order of a key has to be its write order.
    if (row.orderingKey !== null) await store.lanes?.lock({ tx, keys: [row.orderingKey] })
    await store.lanes?.lock({ tx, keys: 'all' })
    const [inserted] = await store.insert({ tx, rows: [added], announce: true })
    if (inserted!.kind !== 'duplicate') {
      await store.actions.record({ entry, rows: [row, added], affected: 1, tx })
    }
    return inserted!
  })
  const known = result.kind === 'queued' ? result.result() : result
  if (known?.kind === 'duplicate') return { eventId: known.eventId, isNew: false }
  await store.wakeUps?.announce().catch(() => {})
  return { eventId: added.eventId, isNew: true }
}

function isDefinedBy(row: StoredRow, { name, aggregateType, aliases }: AnyDefinedEvent): boolean {
  return [{ aggregateType, eventType: name }, ...aliases].some(
    (type) => type.eventType === row.eventType && type.aggregateType === row.aggregateType,
  )
}

async function checkPayload(
  { eventType }: StoredRow,
  payload: unknown,
  definition: AnyDefinedEvent | undefined,
): Promise<void> {
  const result = await definition?.schema?.['~standard'].validate(payload)
  if (result?.issues === undefined) return
  throw new OutboxError(
    'OUTBOX_INVALID_PAYLOAD',
    `The payload of a "${eventType}" event does not fit its schema: ${describeIssues(result.issues)}. Nothing was written.`,
  )
}

// A payload that fits the definition of its event has the newest version.
function replacementOf(row: StoredRow, payload: unknown, definition: AnyDefinedEvent | undefined): NewRow {
  const { aggregateId, tenantId, contentType, destination } = row
  const { aggregateType } = definition ?? row
  const eventType = definition?.name ?? row.eventType
  const codec = JsonCodec.getDefault()
  const envelope = EventEnvelope.encoded(
    {
      eventType,
      aggregateType,
      ...(aggregateId !== null && { aggregateId }),
      ...(tenantId !== null && { tenantId }),
      ...(contentType !== null && { contentType }),
      headers: { ...headersOf(row, definition), [replacesHeader]: row.eventId },
      idempotencyKey: `sendoff/replaces/${row.eventId}/${destination}`.slice(0, 200),
    },
    encodePayload(eventType, payload, codec),
    codec,
  )
  const { orderingKey, partitionNo } = row
  return { ...envelope.toRow(false), destination, orderingKey, partitionNo }
}

function headersOf({ headers }: StoredRow, definition: AnyDefinedEvent | undefined): Record<string, string> {
  const kept = readHeaders(headers)
  if (definition === undefined) return kept
  delete kept[versionHeader]
  return definition.version === undefined ? kept : { ...kept, [versionHeader]: String(definition.version) }
}

function readHeaders(headers: string | null): Record<string, string> {
  try {
    return JsonCodec.parseStringMap(headers)
  } catch {
    return {}
  }
}

function noEvent(eventId: string, destination: string): OutboxError {
  const where = destination === '' ? '' : ` for destination "${destination}"`
  return new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `There is no event ${eventId}${where}. It may have been purged, or have another destination.`,
  )
}

function stillPending(eventId: string): OutboxError {
  return new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `Event ${eventId} is pending, so that its first payload would be delivered, too. Cancel it first: ` +
      `admin.run(await admin.plan('cancel', { eventId: '${eventId}' })). Then replace it.`,
  )
}
