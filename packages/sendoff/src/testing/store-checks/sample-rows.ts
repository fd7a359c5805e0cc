import type { NewRow } from '../../store/index.ts'

let made = 0

/** A row as a writer makes it: its own event, due at once and free, unless `fields` say otherwise. */
export function sampleRow(fields: Partial<NewRow> = {}): NewRow {
  made += 1

  return {
    // Ids fall while `seq` rises, so that a store that sorts by id fails the checks.
    eventId: `event-${999_999 - made}`,
    destination: '',
    eventType: 'OrderPlaced',
    aggregateType: 'Order',
    aggregateId: `order-${made}`,
    tenantId: null,
    orderingKey: null,
    partitionNo: null,
    payload: `{"order":${made}}`,
    contentType: null,
    headers: null,
    occurredAt: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
    due: { inMs: 0 },
    idempotencyKey: null,
    claimed: false,
    ...fields,
  }
}

export function sampleRows(count: number, fields: Partial<NewRow> = {}): readonly NewRow[] {
  return Array.from({ length: count }, () => sampleRow(fields))
}
