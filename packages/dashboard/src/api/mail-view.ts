import type { StoredRow } from 'sendoff/admin'
import { payloadOf, type Redaction } from './event-view.ts'

/** A mail as its row has it. All texts may be anything. */
export interface MailView {
  readonly from: string
  readonly to: readonly string[]
  readonly cc: readonly string[]
  readonly bcc: readonly string[]
  readonly subject: string
  readonly template: string | null
  readonly hasHtml: boolean
  readonly attachments: readonly string[]
}

interface Message {
  readonly from?: unknown
  readonly to?: unknown
  readonly cc?: unknown
  readonly bcc?: unknown
  readonly subject?: unknown
  readonly text?: unknown
  readonly html?: unknown
  readonly template?: unknown
  readonly attachments?: unknown
}

/** The aggregate type of the rows of a mail outbox. */
export const mailAggregate = 'Mail'

/** Returns the mail in a row; undefined if the row has none, or it is encrypted or hidden. */
export function mailOf(row: StoredRow, redaction: Redaction | undefined): MailView | undefined {
  const message = messageOf(row, redaction)
  if (message === undefined) return undefined
  return {
    from: addresses(message.from)[0] ?? '',
    to: addresses(message.to),
    cc: addresses(message.cc),
    bcc: addresses(message.bcc),
    subject: textOf(message.subject) ?? '',
    template: textOf(message.template) ?? null,
    hasHtml: typeof message.html === 'string',
    attachments: listOf(message.attachments).map(
      (each) => textOf((each as { filename?: unknown })?.filename) ?? '',
    ),
  }
}

/**
 * Returns a mail as a page for a sandboxed frame. The page may run no script, and load nothing: a browser
 * that shows it tells the sender nothing.
 */
export function mailPage(row: StoredRow, redaction: Redaction | undefined): string | undefined {
  const message = messageOf(row, redaction)
  if (message === undefined) return undefined
  const html = textOf(message.html)
  // A browser connects to hosts that a <link> announces, whatever the policy of the page.
  if (html !== undefined) return html.replaceAll(/<(?=link)/gi, '<no-')
  const text = textOf(message.text) ?? 'This mail gets its text from a template, when it is sent.'
  return `<!doctype html><meta charset="utf-8"><title>Mail</title><pre style="white-space:pre-wrap;font:14px/1.5 system-ui,sans-serif">${escaped(text)}</pre>`
}

function messageOf(row: StoredRow, redaction: Redaction | undefined): Message | undefined {
  const payload = row.aggregateType === mailAggregate ? payloadOf(row, redaction) : undefined
  if (payload?.kind !== 'json') return undefined
  try {
    const { message } = JSON.parse(payload.text) as { message?: unknown }
    return typeof message === 'object' && message !== null ? message : undefined
  } catch {
    return undefined
  }
}

function addresses(value: unknown): readonly string[] {
  return listOf(value).map((each) => {
    if (typeof each === 'string') return each
    const { name, address } = (each ?? {}) as { name?: unknown; address?: unknown }
    const known = textOf(address) ?? ''
    return textOf(name) ? `${textOf(name)} <${known}>` : known
  })
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
