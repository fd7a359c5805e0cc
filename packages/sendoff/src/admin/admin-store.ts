import { describeWithin } from '../describe-error.ts'
import { OutboxError } from '../errors.ts'
import { type OutboxStore, requireParts, type StorePart, type StoreWith } from '../store/index.ts'

/** The store of an admin. Every call is checked first, and fails with a coded error. */
export class AdminStore<Tx> {
  readonly #store: OutboxStore<Tx>
  #ready: Promise<void> | undefined

  constructor(store: OutboxStore<Tx>) {
    this.#store = store
  }

  /**
   * Runs `work` on a store that has these parts. Checks before the first call that the schema is the one that
   * this code knows; it never changes the schema.
   */
  async call<Part extends StorePart, Result>(
    what: string,
    parts: readonly Part[],
    work: (store: StoreWith<Tx, Part>) => Promise<Result>,
  ): Promise<Result> {
    const store = requireParts(this.#store as never, parts, `${what}()`) as unknown as StoreWith<Tx, Part>
    try {
      await this.#schemaChecked()
      return await work(store)
    } catch (error) {
      throw this.#coded(what, error)
    }
  }

  /** Runs `work` on the store, whatever state its schema is in. */
  async examine<Result>(work: (store: OutboxStore<Tx>) => Promise<Result>): Promise<Result> {
    try {
      return await work(this.#store)
    } catch (error) {
      throw this.#coded('doctor', error)
    }
  }

  /** Whether the store has this part. */
  has(part: StorePart): boolean {
    return this.#store[part] !== undefined
  }

  #schemaChecked(): Promise<void> {
    this.#ready ??= this.#store.checkSchema().catch((error: unknown) => {
      this.#ready = undefined
      throw error
    })
    return this.#ready
  }

  #coded(what: string, error: unknown): OutboxError {
    if (error instanceof OutboxError) return error
    if (this.#store.refusedWrite?.(error)) {
      return new OutboxError(
        'OUTBOX_READ_ONLY',
        `${what}() changes the table, but this database user may only read it: ${describeWithin(error)}. ` +
          'Give outboxAdmin a store whose user has the rights of a worker.',
        { cause: error },
      )
    }
    return new OutboxError(
      'OUTBOX_STORE_FAILED',
      `${what}() failed: ${describeWithin(error)}. Check the connection and the rights of its user, then try again.`,
      { cause: error },
    )
  }
}
