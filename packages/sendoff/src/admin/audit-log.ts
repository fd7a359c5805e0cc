import { OutboxError } from '../errors.ts'
import { checkOptions, durationOrZero, requireOptions, text } from '../options.ts'
import type { AuditEntry } from '../store/index.ts'
import type { AdminStore } from './admin-store.ts'
import { cursorOf, placeOfCursor } from './cursor.ts'
import { pageSize } from './limits.ts'

/** Options of a list of audit entries. */
export interface AuditOptions {
  /** How many entries a page has: 1 to 1,000. Default: 50. */
  readonly limit?: number
  /** The cursor of the page before. */
  readonly cursor?: string
}

/** One page of the audit. */
export interface AuditPage {
  readonly entries: readonly AuditEntry[]
  /** Pass it on to get the next page. Undefined if there is none. */
  readonly cursor: string | undefined
}

const purgeBatch = 500

/** The record of what operators did. */
export class AuditLog<Tx> {
  readonly #store: AdminStore<Tx>
  readonly #actor: (what: string) => string

  constructor(store: AdminStore<Tx>, actor: (what: string) => string) {
    this.#store = store
    this.#actor = actor
  }

  /** Returns entries, newest first. */
  async list(options: AuditOptions = {}): Promise<AuditPage> {
    checkOptions('audit.list', options, { limit: pageSize, cursor: text })
    const { limit = 50, cursor } = options
    return this.#store.call('audit.list', ['looks', 'actions'], async ({ looks, actions }) => {
      const scope = ['audit', await looks.describe()]
      const before = cursor === undefined ? undefined : placeOfCursor(scope, cursor).eventId
      const entries = await actions.audit({ before, limit })
      const last = entries.length === limit ? entries.at(-1) : undefined
      return { entries, cursor: last && cursorOf(scope, { eventId: last.id, destination: '', seq: 0 }) }
    })
  }

  /** Returns one entry. Throws `OUTBOX_INVALID_OPTION` if there is none with this id. */
  async entry(id: string): Promise<AuditEntry> {
    const isNumber = /^\d{1,15}$/.test(id)
    const entries = isNumber
      ? await this.#store.call('audit.entry', ['actions'], ({ actions }) => actions.audit({ id, limit: 1 }))
      : []
    if (entries[0] !== undefined) return entries[0]
    throw new OutboxError(
      'OUTBOX_INVALID_OPTION',
      `The audit has no entry "${id}". It may have been purged; admin.audit.list() returns those that exist.`,
    )
  }

  /** Deletes entries that are older than this, except plans that run. Returns how many there were. */
  async purge(options: { readonly olderThanMs: number }): Promise<number> {
    checkOptions('audit.purge', options, { olderThanMs: durationOrZero })
    requireOptions('audit.purge', options, ['olderThanMs'])
    const { olderThanMs } = options
    const actor = this.#actor('audit.purge')
    return this.#store.call('audit.purge', ['actions'], async ({ actions }) => {
      let deleted = 0
      for (;;) {
        const count = await actions.purgeAudit({ olderThanMs, limit: purgeBatch })
        deleted += count
        if (count < purgeBatch) break
      }
      const detail = JSON.stringify({ olderThanMs, deleted })
      await actions.record({ entry: { actor, action: 'purgeAudit', detail }, rows: [] })
      return deleted
    })
  }
}
