import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { postgresStore } from '../../../packages/sendoff/src/stores/postgres/index.ts'
import { ProcessGroup } from '../../services/processes/process-group.ts'
import { type PostgresServer } from '../../services/servers/postgres/postgres-server.ts'
import { SeededRandom } from '../run/seeded-random.ts'
import type { BrokerKind, ProcessSettings } from './end-to-end-process.ts'

/** A server that a run kills and starts again. */
export interface KilledServer {
  readonly url: string
  kill(): Promise<void>
  start(): Promise<void>
}

export interface EndToEndOptions {
  readonly seed: number
  readonly events: number
  readonly keys: number
  readonly faults: number
  readonly kind: BrokerKind
  readonly broker: KilledServer
  readonly destination: string
  /** The database of the shop: orders and their outbox. */
  readonly shop: PostgresServer
  /** The database of billing: effects and their inbox. */
  readonly billing: PostgresServer
}

/** What became of the events of a run. */
export interface EndToEndResult {
  /** The events that were written, in order. */
  readonly written: readonly Effect[]
  /** The effects, in the order of their inserts. */
  readonly effects: readonly Effect[]
  readonly done: string[]
  /** Output of processes that ended without being killed. */
  readonly ends: readonly string[]
}

export interface Effect {
  readonly eventId: string
  readonly key: string
  readonly number: number
}

const script = new URL('end-to-end-process.ts', import.meta.url).pathname

/** How long nothing may happen, in milliseconds: longer than any lease, session and restart together. */
const patienceMs = 120_000

/**
 * Runs a shop that writes and relays events, and consumers that give them effects in a database of their own.
 * Kills processes and servers at random, each time after some progress since the last fault.
 */
export async function runEndToEnd(options: EndToEndOptions): Promise<EndToEndResult> {
  const { seed, events, keys, faults, kind, broker, destination, shop, billing } = options
  const random = new SeededRandom(seed)
  await prepare(shop.url, 'orders')
  await prepare(billing.url, 'effects')

  const ends: string[] = []
  const processes = (['writer', 'worker', 'consumer', 'consumer'] as const).map((role, index) => {
    const databaseUrl = role === 'consumer' ? billing.url : shop.url
    const settings = { role, broker: kind, brokerUrl: broker.url, destination, databaseUrl, events, keys }
    return new RestartedProcess(`${role}-${index}`, settings, ends)
  })
  const servers = { broker, shop, billing }
  const harms: Readonly<Record<string, () => Promise<void>>> = {
    ...Object.fromEntries(processes.map((each) => [each.name, () => each.restart()])),
    ...Object.fromEntries(
      Object.entries(servers).map(([name, server]) => [
        name,
        async () => {
          await server.kill()
          await delay(random.between(0, 1_000))
          await server.start()
        },
      ]),
    ),
  }
  const done: string[] = []
  try {
    await Promise.all(processes.map((each) => each.start()))
    const kinds = random.shuffled(Object.keys(harms))
    const plan = Array.from({ length: faults }, (_, n) => kinds[n] ?? random.pick(kinds))
    for (const [index, name] of plan.entries()) {
      await untilEffects(billing.url, Math.floor((events * index) / (plan.length + 1)), () => state())
      done.push(name)
      await harms[name]!()
    }
    await untilEffects(billing.url, events, () => state())
    return {
      written: await rowsOf(shop.url, 'orders', 'number'),
      effects: await rowsOf(billing.url, 'effects', 'id'),
      done,
      ends,
    }
  } finally {
    await Promise.all(processes.map((each) => each.kill()))
  }

  function state(): string {
    return `seed ${seed}, faults so far: ${done.join(', ') || 'none'}; ${processes.map((each) => each.output).join('\n')}`
  }
}

class RestartedProcess {
  readonly name: string
  readonly #settings: ProcessSettings
  readonly #ends: string[]
  #group: ProcessGroup | undefined

  constructor(name: string, settings: ProcessSettings, ends: string[]) {
    this.name = name
    this.#settings = settings
    this.#ends = ends
  }

  get output(): string {
    return this.#group?.output ?? ''
  }

  async start(): Promise<void> {
    const group = new ProcessGroup(process.execPath, [script, JSON.stringify(this.#settings)])
    this.#group = group
    void group.ended.then(() => {
      if (this.#group === group) this.#ends.push(`${this.name} ended by itself:\n${group.output}`)
    })
    await group.untilOutput(/^ready$/m, patienceMs).catch((error: unknown) => {
      throw new Error(`${this.name} did not start.`, { cause: error })
    })
  }

  async kill(): Promise<void> {
    const group = this.#group
    this.#group = undefined
    await group?.stop('SIGKILL')
  }

  async restart(): Promise<void> {
    await this.kill()
    await this.start()
  }
}

async function prepare(url: string, table: string): Promise<void> {
  const client = new pg.Pool({ connectionString: url, max: 2 })
  const store = postgresStore({ client })
  await store.migrate()
  await store.close()
  await client.query(
    `create table ${table} (id bigserial primary key, event_id text not null, key text not null, number integer not null)`,
  )
  await client.end()
}

/** Waits until there is this number of effects. Fails if there is no progress for long. */
async function untilEffects(url: string, count: number, state: () => string): Promise<void> {
  let last = -1
  let lastAt = performance.now()
  for (;;) {
    const seen = await withClient(url, async (client) => {
      const { rows } = await client.query<{ count: number }>('select count(*)::int as count from effects')
      return rows[0]!.count
    }).catch(() => last)
    if (seen >= count) return
    if (seen > last) lastAt = performance.now()
    last = seen
    if (performance.now() - lastAt > patienceMs) throw new Error(`Stuck at ${seen} of ${count}. ${state()}`)
    await delay(50)
  }
}

function rowsOf(url: string, table: string, order: string): Promise<Effect[]> {
  return withClient(url, async (client) => {
    const text = `select event_id as "eventId", key, number from ${table} order by ${order}`
    return (await client.query<Effect>(text)).rows
  })
}

async function withClient<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
