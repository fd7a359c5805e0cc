/**
 * A session that only keeps the database from discarding old row versions, like a forgotten transaction or a
 * long report.
 */
export class HeldSnapshot {
  readonly #hold: () => Promise<HeldSession>
  #session: Promise<HeldSession>

  constructor(hold: () => Promise<HeldSession>) {
    this.#hold = hold
    this.#session = hold()
    this.#session.catch(() => {})
  }

  /** Opens another session, after the server has been down. */
  renew(): void {
    this.#session = this.#hold()
    this.#session.catch(() => {})
  }

  async end(): Promise<void> {
    const session = await this.#session.catch(() => undefined)
    await session?.end()
  }
}

export interface HeldSession {
  end(): Promise<unknown>
}
