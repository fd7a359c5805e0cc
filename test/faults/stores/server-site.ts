import { setTimeout as delay } from 'node:timers/promises'
import { type FaultProxy, faultProxy } from '../../services/proxy/fault-proxy.ts'
import { within } from '../../services/processes/process-group.ts'
import type { FaultSite, ProcessAccess, RunSlots, SiteHarm } from './fault-store.ts'
import { type HeldSession, HeldSnapshot } from './held-snapshot.ts'
import { locationOf } from './server-access.ts'
import { type ClockError, wrongClock, wrongClocksMissing } from './wrong-clock.ts'

/** The parts of a site that differ between database servers. */
export interface SiteServer {
  readonly url: string
  start(): Promise<void>
  /** Ways to bring it down, by the name of the harm. */
  readonly ends: Readonly<Record<string, () => Promise<void>>>
  /** Brings it down for good. */
  remove(): Promise<void>
  /** Returns its address in a form that identifies the sessions of a slot. */
  addressFor(slot: string, url: string): string
  /** Ends up to three sessions of a slot, whatever they are doing. Does nothing while the server is down. */
  terminate(slot: string): Promise<void>
  /** Opens a session with a snapshot. */
  holdSnapshot(): Promise<HeldSession>
  /** A part of each commit request, and a part of its reply if other replies may still be under way. */
  readonly commit: readonly [request: string, answer?: string]
}

/** Slots whose clock differs from the database's. */
const clockErrors: Readonly<Record<string, ClockError>> = {
  worker2: '+1h',
  worker3: '-1h',
  writer1: '+1h',
  node1: '-1h',
}

/** Slots with fewer connections than they want to use at once. */
const smallPools: Readonly<Record<string, number>> = { node2: 2 }

/** Slots that give up on a reply on their own, and so outlive connections that are never reported as gone. */
const impatient: readonly string[] = ['worker4', 'node1']

const patienceMs = 2_000

/** Slots with all connections of their pools open, so that many can fall silent at once. */
const fullPools: readonly string[] = ['worker2', 'worker3']

/** This slot reaches its server without a proxy, and thus sees how the server refuses connections. */
const directSlot = 'worker1'

/** How long the proxy waits for a commit whose reply it loses, in ms. */
const longestWaitMs = 1_000

/**
 * Returns a site on a server of its own, with a proxy for each slot, and a session that always holds an old
 * snapshot.
 */
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
        // Only workers: a writer would have to limit the statements of its own transactions itself.
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

  /**
   * Silences connections as networks do: nothing gets through for some time, and later an error shows that
   * they are gone.
   */
  async #silence(slot: string, forMs: number): Promise<void> {
    const proxy = this.#proxy(slot)
    proxy.halfOpen()
    await delay(forMs / 2)
    proxy.resume()
    await delay(forMs / 2)
    proxy.cut()
  }

  /**
   * Connections that lost data stay silent for ever, without an error. Others continue, and new ones work.
   */
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

  /** Without a commit in time, the proxy must not lose the reply to a later one. */
  #forget(slot: string): void {
    void this.#proxy(slot).loseNextAnswerTo('a request that is never made')
  }
}
