/** A session that does nothing but to keep the database from forgetting anything: a forgotten transaction, or a long report. */
export class HeldSnapshot {
  readonly #hold: () => Promise<HeldSession>
  #session: Promise<HeldSession>

  constructor(hold: () => Promise<HeldSession>) {
    this.#hold = hold
    this.#session = hold()
    this.#session.catch(() => {})
  }

  /** Begins anew, after the server has been down. */
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
