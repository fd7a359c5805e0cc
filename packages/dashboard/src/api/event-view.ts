import { EventStatus, type StoredRow } from 'sendoff/admin'
import { hiddenText, type RedactedPaths, redactJson } from './redact-json.ts'

/** A row of an event in a list: without payload and headers. */
export type EventSummary = Omit<StoredRow, 'payload' | 'headers' | 'status'> & {
  readonly status: 'NEW' | 'DONE' | 'RETRY' | 'DEAD'
  /** Whether it waits for an operator. */
  readonly isBlocked: boolean
}

/** A payload as it can be shown. Texts are exactly as stored, apart from hidden values. */
export type PayloadView =
  | { readonly kind: 'json'; readonly text: string; readonly isRedacted: boolean }
  | { readonly kind: 'bytes'; readonly base64: string; readonly size: number; readonly isCut: boolean }
  | { readonly kind: 'hidden' }

/** Which parts of an event a visitor does not see. Undefined for a visitor who sees everything. */
export interface Redaction {
  readonly payload: RedactedPaths
  readonly headers: RedactedPaths
}

/** How many bytes of a payload of bytes are shown. */
const maxBytes = 65_536

const names = new Map(Object.entries(EventStatus).map(([name, code]) => [code, name]))

/** Returns a row as a list shows it. */
export function summaryOf({ payload, headers, status, ...row }: StoredRow): EventSummary {
  return { ...row, status: names.get(status) as EventSummary['status'], isBlocked: row.blockedAt !== null }
}

/** Returns the payload of a row as this visitor may see it. */
export function payloadOf({ payload }: StoredRow, redaction: Redaction | undefined): PayloadView {
  const paths = redaction?.payload ?? []
  if (typeof payload === 'string') {
    const text = paths.length === 0 ? payload : redactJson(payload, paths)
    return text === undefined ? { kind: 'hidden' } : { kind: 'json', text, isRedacted: text !== payload }
  }
  if (paths.length > 0) return { kind: 'hidden' }
  const base64 = Buffer.from(payload.subarray(0, maxBytes)).toString('base64')
  return { kind: 'bytes', base64, size: payload.length, isCut: payload.length > maxBytes }
}

/** Returns the headers of a row as this visitor may see them: a JSON text, or null. */
export function headersOf({ headers }: StoredRow, redaction: Redaction | undefined): string | null {
  const paths = redaction?.headers ?? []
  if (headers === null || paths.length === 0) return headers
  return redactJson(headers, paths) ?? JSON.stringify({ headers: hiddenText })
}
