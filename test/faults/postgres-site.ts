import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Client, DatabaseError } from 'pg'
import { type FaultProxy, faultProxy } from '../services/fault-proxy.ts'
import { debianPostgresServer } from '../services/postgres.ts'
import type { PostgresServer } from '../services/postgres-server.ts'
import { within } from '../services/process-group.ts'
import type { FaultSite, ProcessAccess, RunSlots, SiteHarm } from './fault-store.ts'
import { HeldSnapshot } from './held-snapshot.ts'
import { type ClockError, wrongClock, wrongClocksMissing } from './wrong-clock.ts'

/** These know another time than the database. */
const clockErrors: Readonly<Record<string, ClockError>> = {
  worker2: '+1h',
  worker3: '-1h',
  writer1: '+1h',
  node1: '-1h',
}

/** These have fewer connections than they want to use at once. */
const smallPools: Readonly<Record<string, number>> = { node2: 2 }

/** These give up on an answer by themselves, and so outlive connections that nobody ever says are gone. */
const impatient: readonly string[] = ['worker4', 'node1']

/** Reaches its server without a proxy, and thus sees how that refuses connections. */
const directSlot = 'worker1'

/** How long an answer to a commit is lain in wait for. */
const longestWaitMs = 1_000

/** A PostgreSQL of one's own, with a proxy before it for each slot, in which somebody always holds an old snapshot. */
export async function postgresSite(folder: string, { workers, writers }: RunSlots): Promise<FaultSite> {
  const hasWrongClocks = (await wrongClocksMissing()) === undefined
  const dataFolder = join(folder, 'postgres')
  mkdirSync(dataFolder)
  const server = await debianPostgresServer(dataFolder)
  const proxied = [...workers, ...writers].filter((slot) => slot !== directSlot)
  const proxies = new Map<string, FaultProxy>()
  for (const slot of proxied) proxies.set(slot, await faultProxy(server.url))
  return new PostgresSite(server, proxies, { workers, writers }, hasWrongClocks)
}

class PostgresSite implements FaultSite {
  readonly harms: Readonly<Record<string, SiteHarm>>
  readonly #server: PostgresServer
  readonly #proxies: ReadonlyMap<string, FaultProxy>
  readonly #hasWrongClocks: boolean
  readonly #snapshot: HeldSnapshot
  #restarts: Promise<void> = Promise.resolve()

  constructor(
    server: PostgresServer,
    proxies: ReadonlyMap<string, FaultProxy>,
    { workers, writers }: RunSlots,
    hasWrongClocks: boolean,
  ) {
    this.#server = server
    this.#proxies = proxies
    this.#hasWrongClocks = hasWrongClocks
    this.#snapshot = new HeldSnapshot(server.url)

    const proxied = [...proxies.keys()]
    const restart = (end: () => Promise<void>): SiteHarm => ({
      weight: 8,
      targets: 'everybody',
      leases: [0, 1.5],
      do: (_, forMs) => this.#restart(end, forMs),
    })
    this.harms = {
      fastRestart: restart(() => server.stop('fast')),
      immediateRestart: restart(() => server.stop('immediate')),
      crash: restart(() => server.kill()),
      terminate: {
        weight: 25,
        targets: [...workers, ...writers],
        leases: [0, 0],
        do: (slot) => this.#terminate(slot),
      },
      cut: { weight: 15, targets: proxied, leases: [0, 0], do: async (slot) => this.#proxy(slot).cut() },
      silence: {
        weight: 15,
        targets: proxied,
        leases: [0.3, 2.2],
        do: (slot, forMs) => this.#silence(slot, forMs),
      },
      mute: {
        weight: 10,
        targets: proxied.filter((slot) => impatient.includes(slot)),
        leases: [0.3, 2.2],
        do: (slot, forMs) => this.#mute(slot, forMs),
      },
      loseCommit: { weight: 25, targets: writers, leases: [0, 0], do: (slot) => this.#loseCommit(slot) },
    }
  }

  get location(): string {
    return `${this.#server.url}?application_name=driver`
  }

  accessOf(slot: string): ProcessAccess {
    const error = this.#hasWrongClocks ? clockErrors[slot] : undefined
    const pool = smallPools[slot]
    const location = new URL(this.#proxies.get(slot)?.url ?? this.#server.url)
    location.searchParams.set('application_name', slot)
    if (pool !== undefined) location.searchParams.set('pool', String(pool))
    if (impatient.includes(slot)) location.searchParams.set('timeout_ms', '2000')
    return {
      location: location.href,
      lanes: pool === undefined ? 3 : pool * 6,
      ...(error === undefined ? {} : { environment: wrongClock(error) }),
    }
  }

  async close(): Promise<void> {
    await this.#restarts
    await this.#snapshot.end()
    for (const proxy of this.#proxies.values()) await proxy.close()
    await this.#server.stop('immediate')
  }

  #proxy(slot: string): FaultProxy {
    return this.#proxies.get(slot)!
  }

  // One after another: a server that is down cannot be stopped.
  #restart(end: () => Promise<void>, downMs: number): Promise<void> {
    this.#restarts = this.#restarts.then(async () => {
      await end()
      await delay(downMs)
      await this.#server.start()
      this.#snapshot.renew()
    })
    return this.#restarts
  }

  /** Ends up to three sessions of a slot, whatever they are doing. */
  async #terminate(slot: string): Promise<void> {
    const client = new Client(this.location)
    client.on('error', () => {})
    try {
      await client.connect()
      await client.query(
        `select pg_terminate_backend(pid, 1000)
           from (select pid from pg_stat_activity where application_name = $1 order by random() limit 3) as chosen`,
        [slot],
      )
    } catch (error) {
      // The server may be down, or go down now: then the harm is done already.
      if (error instanceof DatabaseError && !isShutDown(error)) throw error
    } finally {
      await client.end().catch(() => {})
    }
  }

  /** As networks do it: nothing gets through for some time, and later somebody says that connections are gone. */
  async #silence(slot: string, forMs: number): Promise<void> {
    const proxy = this.#proxy(slot)
    proxy.halfOpen()
    await delay(forMs / 2)
    proxy.resume()
    await delay(forMs / 2)
    proxy.cut()
  }

  /** Connections that lost something are silent for ever, and nobody is told. Others go on, and new ones are fine. */
  async #mute(slot: string, forMs: number): Promise<void> {
    const proxy = this.#proxy(slot)
    proxy.halfOpen()
    await delay(forMs)
    proxy.resume()
  }

  async #loseCommit(slot: string): Promise<void> {
    const proxy = this.#proxy(slot)
    const lost = proxy.loseNextAnswerTo('COMMIT', 'COMMIT').then(() => true)
    if (await within(longestWaitMs, lost)) return

    // Nobody commits here at the moment, and nobody shall be surprised later.
    void proxy.loseNextAnswerTo('a request that nobody makes')
    proxy.cut()
  }
}

/** Codes of this class are those of a server that is coming or going. */
function isShutDown({ code }: DatabaseError): boolean {
  return code?.startsWith('57P') ?? false
}
