import { Client } from 'pg'

/** A session that does nothing but to keep the database from forgetting anything: a forgotten transaction, or a long report. */
export class HeldSnapshot {
  readonly #url: string
  #client: Promise<Client>

  constructor(url: string) {
    this.#url = url
    this.#client = this.#hold()
    this.#client.catch(() => {})
  }

  /** Begins anew, after the server has been down. */
  renew(): void {
    this.#client = this.#hold()
    this.#client.catch(() => {})
  }

  async end(): Promise<void> {
    const client = await this.#client.catch(() => undefined)
    await client?.end()
  }

  async #hold(): Promise<Client> {
    const client = new Client(this.#url)
    client.on('error', () => {})
    await client.connect()
    await client.query('begin isolation level repeatable read')
    await client.query('select from pg_class limit 1')
    return client
  }
}
