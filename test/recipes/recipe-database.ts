import type { TestContext } from 'node:test'
import pg from 'pg'
import { EventStatus } from 'sendoff'

let made = 0

/** A database of its own for one test, on the server that the runner has started. */
export class RecipeDatabase {
  readonly url: string
  readonly #pool: pg.Pool

  private constructor(url: string) {
    this.url = url
    this.#pool = new pg.Pool({ connectionString: url, max: 2 })
    // The pool resolves `end()` before its connections are closed. Dropping the database then ends them.
    this.#pool.on('error', () => {})
  }

  static async create(test: TestContext): Promise<RecipeDatabase> {
    const server = new pg.Pool({ connectionString: process.env.POSTGRES_URL!, max: 1 })
    const name = `recipe_${process.pid}_${++made}`
    await server.query(`create database ${name}`)
    const url = new URL(process.env.POSTGRES_URL!)
    url.pathname = name
    const database = new RecipeDatabase(url.href)
    test.after(async () => {
      await database.#pool.end()
      await server.query(`drop database ${name} with (force)`)
      await server.end()
    })
    return database
  }

  /** Returns ids of orders, of events that are DONE, of other events, and of shipped orders. */
  async readShop() {
    const events = (condition: string) =>
      this.#column(`select aggregate_id from outbox_event where status ${condition} order by 1`)
    return {
      orders: await this.#column('select id from orders order by 1'),
      done: await events(`= ${EventStatus.DONE}`),
      pending: await events(`<> ${EventStatus.DONE}`),
      shipments: await this.#column('select order_id from shipments order by 1'),
    }
  }

  async #column(sql: string): Promise<readonly string[]> {
    const { rows } = await this.#pool.query<[string]>({ text: sql, rowMode: 'array' })
    return rows.map(([value]) => value)
  }
}
