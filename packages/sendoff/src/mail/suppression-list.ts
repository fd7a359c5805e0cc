import { createHash, randomBytes } from 'node:crypto'
import { OutboxError } from '../errors.ts'
import { EventEnvelope } from '../event/event-envelope.ts'
import { JsonCodec } from '../event/json-codec.ts'
import { checkOptions, having, requireOptions } from '../options.ts'
import { type OutboxStore, requireParts, type StoredRow, type StoreWith } from '../store/index.ts'
import { checkedAddress, mailboxOf } from './mail-address.ts'

/** Who is not to get mail, and why: a list of your own, or a `SuppressionList`. */
export interface Suppressions {
  /** The reasons of those of the addresses that are on the list. */
  find(addresses: readonly string[]): Promise<ReadonlyMap<string, string>>
}

/** An address on the suppression list. */
export interface SuppressedAddress {
  readonly address: string
  readonly reason: string
  readonly since: Date
}

/** Options of `SuppressionList`. */
export interface SuppressionListOptions<Tx> {
  /** A store made for a table of its own, in which nothing is ever delivered. */
  readonly store: OutboxStore<Tx>
}

const eventType = 'MailSuppressed'
const leaseMs = 30_000

/**
 * Addresses that get no mail, such as those that bounced or complained, each with a reason.
 *
 * It is kept in a table like that of an outbox, a row for each address, under an id that follows from the address: finding one is
 * a look at the primary key, on every store.
 */
export class SuppressionList<Tx> implements Suppressions {
  readonly #store: StoreWith<Tx, 'people'>
  readonly #owner = `suppression-list-${randomBytes(4).toString('hex')}`

  constructor(options: SuppressionListOptions<Tx>) {
    checkOptions('SuppressionList', options, { store: having('claim', 'insert', 'settle', 'transaction') })
    requireOptions('SuppressionList', options, ['store'])
    this.#store = requireParts(options.store, ['people'], 'SuppressionList')
  }

  /** Brings the schema up to date. Many processes may call it at once. */
  initSchema(): Promise<void> {
    return this.#store.migrate()
  }

  /** Puts an address on the list. One that is there already stays there with its first reason: false. */
  async add(address: string, reason: string): Promise<boolean> {
    const { address: checked } = checkedAddress('the suppression list', address)
    const entry = EventEnvelope.of({
      eventType,
      eventId: rowIdOf(checked),
      payloadJson: JSON.stringify({ address: checked, reason }),
    })
    try {
      await this.#store.transaction((tx) => this.#store.insert({ tx, rows: [entry.toRow(false)] }))
      return true
    } catch (error) {
      if (error instanceof OutboxError && error.code === 'OUTBOX_DUPLICATE_EVENT_ID') return false
      throw error
    }
  }

  /** Takes an address off the list; false if it is not on it. */
  async remove(address: string): Promise<boolean> {
    const key = { eventId: rowIdOf(address), destination: '' }
    const rows = await this.#store.claim({ lease: this.#lease, limit: 1, rows: [key] })
    const settlements = rows.map((row) => ({ row, outcome: { kind: 'delete' } as const }))
    return rows.length > 0 && (await this.#store.settle({ settlements })).length === 0
  }

  async find(addresses: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>()
    for (const address of addresses) {
      const [row] = await this.#store.people.query({ eventId: rowIdOf(address), limit: 1 })
      if (row !== undefined) found.set(address, entryOf(row).reason)
    }
    return found
  }

  /** Everybody on the list, in the order in which they came, from behind `after` on. */
  async list({ limit = 100, after = 0 } = {}): Promise<readonly (SuppressedAddress & { seq: number })[]> {
    const rows = await this.#store.people.query({ eventType, limit, afterSeq: after })
    return rows.map((row) => ({ ...entryOf(row), seq: row.seq }))
  }

  /** Closes the store. */
  close(): Promise<void> {
    return this.#store.close()
  }

  get #lease() {
    return { owner: this.#owner, ms: leaseMs }
  }
}

// 136 bits of a hash, as many as an id has room for.
function rowIdOf(address: string): string {
  return `s-${createHash('sha256').update(mailboxOf(address)).digest('hex').slice(0, 34)}`
}

function entryOf({ payload, createdAt }: StoredRow): SuppressedAddress {
  const { address, reason } = JsonCodec.getDefault().fromJson(payload as string) as Omit<
    SuppressedAddress,
    'since'
  >
  return { address, reason, since: new Date(createdAt) }
}
