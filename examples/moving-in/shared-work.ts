import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { ListenerRegistry, Outbox } from 'sendoff'
import { postgresStore } from 'sendoff/postgres'
import { postgresDatabase } from '../../packages/sendoff/test/transactions/postgres-database.ts'

/** What an import reports at its end: how many jobs it moved, and how many the old system still has. */
export interface ImportReport {
  readonly moved: number
  readonly left: number
}

/** Pieces of work, by number, that an old system and an outbox share during a move. For the tests of imports. */
export class SharedWork {
  readonly url: string
  readonly pool: pg.Pool
  readonly #closing: (() => Promise<unknown>)[] = []

  static async open(test: TestContext): Promise<SharedWork> {
    const database = await postgresDatabase()
    const pool = new pg.Pool({ connectionString: database.url, max: 5 })
    const work = new SharedWork(database.url, pool)
    test.after(async () => {
      for (const close of work.#closing.toReversed()) await close()
      await pool.end()
      await database.drop()
    })
    // It takes a number twice, so that a test can see it.
    await pool.query('create table done (number int not null, by text not null)')
    return work
  }

  private constructor(url: string, pool: pg.Pool) {
    this.url = url
    this.pool = pool
  }

  /** Calls `close` at the end of the test, before the database is dropped. The last one comes first. */
  atEnd(close: () => Promise<unknown>): void {
    this.#closing.push(close)
  }

  async did(number: number, by: 'old worker' | 'outbox'): Promise<void> {
    await this.pool.query('insert into done values ($1, $2)', [number, by])
  }

  /** Waits until the old worker has done this many pieces. */
  async untilOldWorkerDid(count: number): Promise<void> {
    while ((await this.doneBy('old worker')).length < count) await sleep(5)
  }

  /** Returns the numbers that one of the two has done, in order. */
  async doneBy(by: 'old worker' | 'outbox'): Promise<number[]> {
    const sql = 'select number from done where by = $1 order by number'
    return (await this.pool.query<{ number: number }>(sql, [by])).rows.map(({ number }) => number)
  }

  /** Returns the pending events by the number of their work, with the time each is due. */
  async pending(): Promise<Map<number, Date>> {
    const sql = `select (payload ->> 'number')::int as number, available_at as due
      from outbox_event where status in (0, 2) order by 1`
    const { rows } = await this.pool.query<{ number: number; due: Date }>(sql)
    return new Map(rows.map(({ number, due }) => [number, due]))
  }

  /** Runs an import to its end. */
  async import(script: string, ...args: readonly string[]): Promise<ImportReport> {
    const running = this.#start(script, args)
    const [output, [code]] = await Promise.all([text(running.stdout!), once(running, 'exit')])
    const [, moved, left] = /^moved=(\d+) left=(\d+)$/m.exec(output) ?? []
    if (code !== 0) throw new Error(`The import ended with ${code}:\n${output}`)
    return { moved: Number(moved), left: Number(left) }
  }

  /** Imports again and again, until the old system has nothing left. Returns how many jobs moved. */
  async importAll(script: string, ...args: readonly string[]): Promise<number> {
    for (let moved = 0; ; await sleep(20)) {
      const report = await this.import(script, ...args)
      moved += report.moved
      if (report.left === 0) return moved
    }
  }

  /** Starts an import, and kills it with SIGKILL after its first batch. */
  async killedImport(script: string, ...args: readonly string[]): Promise<void> {
    const running = this.#start(script, args)
    const ended = once(running, 'exit')
    running.stdout!.once('data', () => running.kill('SIGKILL'))
    const [, signal] = await ended
    if (signal !== 'SIGKILL') throw new Error('The import ended before it could be killed.')
  }

  /** Delivers all events that are due. */
  async deliver(): Promise<void> {
    const listeners = new ListenerRegistry().register('Work', async (event) => {
      await this.did((event.payload as { number: number }).number, 'outbox')
    })
    const outbox = await Outbox.multiNode({ store: postgresStore({ client: this.pool }), listeners }).start()
    await outbox.drain()
    await outbox.close()
  }

  #start(script: string, args: readonly string[]): ChildProcess {
    return spawn(process.execPath, [join(import.meta.dirname, script), ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, DATABASE_URL: this.url },
    })
  }
}

/** Returns the whole numbers from `first` to `last`. */
export function numbers(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}
