import type { AuditEntry, StoredRow } from 'sendoff/admin'
import type { Style } from '../terminal/paint.ts'
import { durationText, timeJson, timeText } from '../terminal/shown-values.ts'
import type { Column } from '../terminal/table.ts'

const names = ['NEW', 'DONE', 'RETRY', 'DEAD'] as const

/** The state of an event in words, as people see it. A blocked event waits for an operator. */
export function stateOf({ status, blockedAt }: Pick<StoredRow, 'status' | 'blockedAt'>): string {
  return blockedAt !== null && (status === 0 || status === 2)
    ? 'BLOCKED'
    : (names[status] ?? `state ${status}`)
}

/** The colour of a state. */
export function stateStyle(state: string): Style | undefined {
  const styles: Readonly<Record<string, Style>> = {
    DONE: 'green',
    DEAD: 'red',
    RETRY: 'yellow',
    BLOCKED: 'yellow',
    NEW: 'cyan',
  }
  return styles[state]
}

/** The columns of a list of events. No payloads: these are shown one at a time. */
export const eventColumns: readonly Column<StoredRow>[] = [
  { title: 'written', value: ({ createdAt }) => timeText(createdAt) },
  { title: 'state', value: stateOf, style: (row) => stateStyle(stateOf(row)) },
  { title: 'type', value: ({ eventType }) => eventType },
  { title: 'destination', value: ({ destination }) => destination || '-', isOptional: true },
  { title: 'key', value: ({ orderingKey, aggregateId }) => orderingKey ?? aggregateId ?? '-' },
  { title: 'attempts', value: ({ attempts }) => String(attempts), align: 'right' },
  { title: 'id', value: ({ eventId }) => eventId },
  { title: 'last error', value: ({ lastError }) => lastError ?? '', isOptional: true },
]

/** An event for machines: states in words, times in UTC, payloads exactly as stored. */
export function eventJson(row: StoredRow): object {
  const {
    status,
    payload,
    headers,
    occurredAt,
    availableAt,
    createdAt,
    doneAt,
    lockedUntil,
    blockedAt,
    ...same
  } = row
  return {
    ...same,
    state: stateOf({ status, blockedAt }),
    status: names[status],
    ...(payload instanceof Uint8Array
      ? { payloadBase64: Buffer.from(payload).toString('base64') }
      : { payload }),
    headers: headers === null ? null : parsed(headers),
    occurredAt: timeJson(occurredAt),
    availableAt: timeJson(availableAt),
    createdAt: timeJson(createdAt),
    doneAt: timeJson(doneAt),
    lockedUntil: timeJson(lockedUntil),
    blockedAt: timeJson(blockedAt),
  }
}

/** The columns of a list of audit entries. */
export const auditColumns: readonly Column<AuditEntry>[] = [
  { title: 'id', value: ({ id }) => id, align: 'right' },
  { title: 'at', value: ({ at }) => timeText(at) },
  { title: 'who', value: ({ actor }) => actor ?? '-' },
  { title: 'did', value: ({ action }) => action },
  { title: 'state', value: ({ state }) => state ?? '-' },
  { title: 'events', value: ({ affected }) => String(affected), align: 'right' },
  { title: 'detail', value: ({ detail }) => detail ?? '', isOptional: true },
]

/** An audit entry for machines. */
export function auditJson({ at, updatedAt, detail, plan, progress, ...same }: AuditEntry): object {
  return {
    ...same,
    at: timeJson(at),
    updatedAt: timeJson(updatedAt),
    detail: detail === null ? null : parsed(detail),
    plan: plan === null ? null : parsed(plan),
    progress: progress === null ? null : parsed(progress),
  }
}

/** How long ago something was. */
export function agoText(at: number, now: number): string {
  return Number.isFinite(at) ? `${durationText(now - at)} ago` : 'unknown'
}

// Texts that were changed by hand stay texts.
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
