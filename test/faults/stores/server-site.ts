import { setTimeout as delay } from 'node:timers/promises'
import { type FaultProxy, faultProxy } from '../../services/proxy/fault-proxy.ts'
import { within } from '../../services/processes/process-group.ts'
import type { FaultSite, ProcessAccess, RunSlots, SiteHarm } from './fault-store.ts'
import { type HeldSession, HeldSnapshot } from './held-snapshot.ts'
import { locationOf } from './server-access.ts'
import { type ClockError, wrongClock, wrongClocksMissing } from './wrong-clock.ts'

/** What is different from one database server to another. */
export interface SiteServer {
  readonly url: string
  start(): Promise<void>
  /** Ways to bring it down, by the name of the harm. */
  readonly ends: Readonly<Record<string, () => Promise<void>>>
  /** Brings it down for good. */
  remove(): Promise<void>
  /** An address of it, such that sessions of a slot can be told from those of others. */
  addressFor(slot: string, url: string): string
  /** Ends up to three sessions of a slot, whatever they are doing. Does nothing while the server is down. */
  terminate(slot: string): Promise<void>
  /** Opens a session with a snapshot. */
  holdSnapshot(): Promise<HeldSession>
  /** What a request to commit has in it, and its answer where other answers may still be under way. */
  readonly commit: readonly [request: string, answer?: string]
}

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

const patienceMs = 2_000

/** These have all connections of their pools open, so that many can fall silent at once. */
const fullPools: readonly string[] = ['worker2', 'worker3']

/** Reaches its server without a proxy, and thus sees how that refuses connections. */
const directSlot = 'worker1'

/** How long an answer to a commit is lain in wait for. */
const longestWaitMs = 1_000

/** A server of one's own, with a proxy before it for each slot, in which somebody always holds an old snapshot. */
export async function serverSite(server: SiteServer, { workers, writers }: RunSlots): Promise<FaultSite> {
  const hasWrongClocks = (await wrongClocksMissing()) === undefined
  const proxied = [...workers, ...writers].filter((slot) => slot !== directSlot)
  const proxies = new Map<string, FaultProxy>()
  for (const slot of proxied) proxies.set(slot, await faultProxy(server.url))
  return new ServerSite(server, proxies, { workers, writers }, hasWrongClocks)
}

class ServerSite implements FaultSite {
  readonly harms: Readonly<Record<string, SiteHarm>>
  readonly #server: SiteServer
  readonly #proxies: ReadonlyMap<string, FaultProxy>
  readonly #hasWrongClocks: boolean
  readonly #snapshot: HeldSnapshot
  #restarts: Promise<void> = Promise.resolve()

  constructor(
    server: SiteServer,
    proxies: ReadonlyMap<string, FaultProxy>,
    { workers, writers }: RunSlots,
    hasWrongClocks: boolean,
  ) {
    this.#server = server
    this.#proxies = proxies
    this.#hasWrongClocks = hasWrongClocks
    this.#snapshot = new HeldSnapshot(() => server.holdSnapshot())

    const proxied = [...proxies.keys()]
    const restart = (end: () => Promise<void>): SiteHarm => ({
      weight: 8,
      targets: 'everybody',
      leases: [0, 1.5],
      do: (_, forMs) => this.#restart(end, forMs),
    })
    this.harms = {
      ...Object.fromEntries(Object.entries(server.ends).map(([name, end]) => [name, restart(end)])),
      terminate: {
        weight: 25,
        targets: [...workers, ...writers],
        leases: [0, 0],
        do: (slot) => server.terminate(slot),
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
      blackHole: {
        weight: 15,
        // Statements of its own transactions a writer would have to limit itself.
        targets: workers.filter((slot) => fullPools.includes(slot)),
        leases: [0, 0],
        do: async (slot) => this.#proxy(slot).blackHole(),
      },
      holdCommit: {
        weight: 25,
        targets: writers,
        leases: [0.3, 1.2],
        do: (slot, forMs) => this.#holdCommit(slot, forMs),
      },
      loseCommit: { weight: 25, targets: writers, leases: [0, 0], do: (slot) => this.#loseCommit(slot) },
    }
  }

  get location(): string {
    return this.#server.addressFor('driver', this.#server.url)
  }

  accessOf(slot: string): ProcessAccess {
    const error = this.#hasWrongClocks ? clockErrors[slot] : undefined
    const poolSize = smallPools[slot]
    const url = this.#server.addressFor(slot, this.#proxies.get(slot)?.url ?? this.#server.url)
    return {
      location: locationOf({
        url,
        ...(poolSize !== undefined && { poolSize }),
        ...(impatient.includes(slot) && { timeoutMs: patienceMs }),
        ...(fullPools.includes(slot) && { isFull: true }),
      }),
      lanes: poolSize === undefined ? 3 : poolSize * 6,
      ...(error === undefined ? {} : { environment: wrongClock(error) }),
    }
  }

  async close(): Promise<void> {
    await this.#restarts
    await this.#snapshot.end()
    for (const proxy of this.#proxies.values()) await proxy.close()
    await this.#server.remove()
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

  async #holdCommit(slot: string, forMs: number): Promise<void> {
    const [request] = this.#server.commit
    const held = this.#proxy(slot).holdNextAnswerTo(request, forMs)
    if (
      (await within(
        longestWaitMs + forMs,
        held.then(() => true),
      )) === undefined
    )
      this.#forget(slot)
  }

  async #loseCommit(slot: string): Promise<void> {
    const proxy = this.#proxy(slot)
    const lost = proxy.loseNextAnswerTo(...this.#server.commit).then(() => true)
    if (await within(longestWaitMs, lost)) return

    this.#forget(slot)
    proxy.cut()
  }

  /** Where no commit came, none shall be surprised later. */
  #forget(slot: string): void {
    void this.#proxy(slot).loseNextAnswerTo('a request that is never made')
  }
}
