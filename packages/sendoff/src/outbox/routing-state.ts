import { type Clock, delay } from '../clock.ts'
import { OutboxError } from '../errors.ts'
import type { EventEnvelope } from '../event/event-envelope.ts'
import type { Logger } from '../observe/logger.ts'
import { Expansion } from '../route/expansion.ts'
import type { Routing } from '../route/routing.ts'
import { EventStatus } from '../store/event-status.ts'
import { type OutboxStore, requireParts, type StoredRouting } from '../store/index.ts'

/** Options of `RoutingState`. */
export interface RoutingStateOptions {
  /** The routing of this process; undefined if it has none. */
  readonly routing: Routing | undefined
  readonly store: Pick<OutboxStore<never>, 'routing' | 'looks' | 'reports'>
  readonly clock: Clock
  readonly logger: Logger
  /** Whether this process keeps the order of the whole table, which has one destination then. */
  readonly hasOneDestination: boolean
  /** Called after this process has published a routing. */
  readonly onPublished: () => void
}

/**
 * The routing that this process writes by: the one that the table keeps. Every writer follows it with its
 * heartbeat, so that events of one type have the same destinations, whichever process wrote them.
 */
export class RoutingState {
  readonly #options: RoutingStateOptions
  #expansion: Expansion | undefined
  #destinationsOf: ((event: EventEnvelope) => readonly string[]) | undefined
  #seenVersion: number | undefined

  constructor(options: RoutingStateOptions) {
    this.#options = options
  }

  /** The routing of the table; undefined while it has none. */
  get expansion(): Expansion | undefined {
    return this.#expansion
  }

  /** Returns the destinations of an event; undefined while the table has no routing. */
  get destinationsOf(): ((event: EventEnvelope) => readonly string[]) | undefined {
    return this.#destinationsOf
  }

  /**
   * Publishes the routing of this process, if it is newer than that of the table, and follows the one that is
   * stored then. Throws `OUTBOX_ROUTING_CONFLICT` if the table has another content with the same version, or
   * processes that a new routing would harm.
   */
  async publish(): Promise<void> {
    const { routing, store, hasOneDestination } = this.#options
    if (hasOneDestination) {
      requireOne(routing?.stored)
      requireOne(await store.routing?.current())
    }
    if (routing === undefined) return
    const part = requireParts(store, ['routing'], 'The option "routing"').routing
    const before = await part.current()
    if (before === null) await this.#refuseOldProcesses()
    if (before === null || before.version < routing.stored.version) await this.#refuseOrdered(routing)
    const stored = await part.publish(routing.stored)
    if (stored.version === routing.stored.version && stored.content !== routing.stored.content) {
      throw new OutboxError(
        'OUTBOX_ROUTING_CONFLICT',
        `The table has a routing of version ${stored.version} with another content than that of this process. ` +
          'Raise the version of the routing with every change of its rules. A new alias of their events is one.',
      )
    }
    this.follow(stored)
    if (before?.version === stored.version || stored.version !== routing.stored.version) return
    this.#options.onPublished()
    if (before !== null) await this.#warnOfRemoved(new Expansion(before), new Expansion(stored))
  }

  /**
   * Takes the routing of the table, as a heartbeat found it. An ordered process that runs already leaves one
   * with several destinations alone, because its heartbeats have to go on.
   */
  follow(stored: StoredRouting | null): void {
    const { routing, logger, hasOneDestination } = this.#options
    if (stored === null || stored.version === this.#seenVersion) return
    this.#seenVersion = stored.version
    const expansion = new Expansion(stored)
    if (hasOneDestination && hasSeveral(expansion)) {
      logger.error(severalInOrdered(expansion).message)
      return
    }
    this.#expansion = expansion
    this.#destinationsOf = (event) => expansion.of(event)
    if (routing !== undefined && stored.version > routing.stored.version) {
      logger.warn(
        `The table has a routing of version ${stored.version}, and this process one of version ${routing.stored.version}. ` +
          'It writes by the newer one. Deploy the newer routing here, too.',
      )
    }
  }

  /** Reads the routing of the table again. If the store fails, it stays as it is until the next heartbeat. */
  async refresh(): Promise<void> {
    try {
      this.follow((await this.#options.store.routing?.current()) ?? null)
    } catch {
      // The next heartbeat brings it.
    }
  }

  /**
   * A release that does not know destinations would deliver the rows of all of them. Its processes never
   * report. Others report as soon as they have joined.
   */
  async #refuseOldProcesses(): Promise<void> {
    const { store, clock } = this.#options
    const silent = async () =>
      ((await store.reports?.living()) ?? []).filter(({ mode, report }) => mode !== null && report === null)
    let old = await silent()
    for (let waits = 0; old.length > 0 && waits < waitsForReports; waits++) {
      await delay(clock, waitForReportsMs)
      old = await silent()
    }
    if (old.length === 0) return
    throw new OutboxError(
      'OUTBOX_ROUTING_CONFLICT',
      `The table cannot get its first routing while processes of an older release deliver: ${old.map(({ id }) => id).join(', ')}. ` +
        'They would deliver the rows of every destination. Deploy this release everywhere first, without the option "routing".',
    )
  }

  /** An ordered process delivers to one destination, and could not start again. */
  async #refuseOrdered({ stored }: Routing): Promise<void> {
    const living = hasSeveral(new Expansion(stored)) && (await this.#options.store.reports?.living())
    const ordered = living && living.find(({ mode }) => mode === 'ordered')
    if (!ordered) return
    throw new OutboxError(
      'OUTBOX_ROUTING_CONFLICT',
      `The table cannot get a routing with several destinations while processes deliver in mode "ordered": ${ordered.id}. Stop them first.`,
    )
  }

  /** Warns of events that wait for a destination that no longer exists. They stay. */
  async #warnOfRemoved(before: Expansion, now: Expansion): Promise<void> {
    const { looks } = this.#options.store
    if (looks === undefined) return
    for (const destination of before.destinations.filter((name) => !now.destinations.includes(name))) {
      const filter = { destination, status: [EventStatus.NEW, EventStatus.RETRY] }
      const { rows } = await looks.scan({ filter, order: 'oldest', limit: 1, window: scanWindow })
      if (rows.length === 0) continue
      this.#options.logger.warn(
        `The routing of version ${now.version} sends no more events to "${destination}", but some still wait for it. They stay in the table. ` +
          'Keep the destination and its listener under "destinations" until they are delivered, or cancel them.',
      )
    }
  }
}

/** How often, and how long, a process waits for the reports of processes that have just joined. */
const waitsForReports = 8
const waitForReportsMs = 250

/** How many rows a search for waiting events examines. */
const scanWindow = 10_000

function requireOne(stored: StoredRouting | null | undefined): void {
  const expansion = stored && new Expansion(stored)
  if (expansion && hasSeveral(expansion)) throw severalInOrdered(expansion)
}

function hasSeveral({ destinations }: Expansion): boolean {
  return destinations.some((name) => name !== '')
}

function severalInOrdered({ destinations }: Expansion): OutboxError {
  return new OutboxError(
    'OUTBOX_ROUTING_CONFLICT',
    `Outbox.ordered keeps one order for the whole table, so that it has one destination, the empty one. Its routing names ${destinations.map((name) => `"${name}"`).join(', ')}. Use Outbox.partitioned for several.`,
  )
}
