import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common'
import type { ModulesContainer } from '@nestjs/core'
import { type ListenerRegistry, OutboxError, type WriterOutbox } from 'sendoff'
import type { ListenerExplorer } from './listener-explorer.ts'
import { getOutboxLifecycleToken, getOutboxToken } from './outbox-tokens.ts'
import type { ResolvedOptions } from './resolve-options.ts'

/** The parts of one outbox in an application. */
export interface OutboxLifecycleParts {
  readonly name: string
  readonly outbox: Pick<WriterOutbox<unknown>, 'start' | 'close'>
  readonly options: Pick<ResolvedOptions, 'mode' | 'autoStart'>
  readonly registry: ListenerRegistry
  readonly explorer: ListenerExplorer
  readonly modules: ModulesContainer
}

/**
 * Starts an outbox after the application, and closes it before.
 *
 * The outbox starts after all other `onApplicationBootstrap` hooks, so that no listener runs in a half-made
 * application. It closes in `onApplicationShutdown`, before all other such hooks: requests have ended by
 * then, and the connections that listeners use are still open.
 */
export class OutboxLifecycle implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #parts: OutboxLifecycleParts

  constructor(parts: OutboxLifecycleParts) {
    this.#parts = parts
    const hosts = [...parts.modules.values()].filter((each) =>
      each.providers.has(getOutboxLifecycleToken(parts.name)),
    )
    if (hosts.length > 1) throw twice(parts.name)
    // Nest calls hooks by the distance of a module to the root: the largest first at the start, and last at
    // the end.
    for (const host of hosts) host.distance = -1
  }

  async onApplicationBootstrap(): Promise<void> {
    const { name, outbox, options, registry, explorer } = this.#parts
    try {
      this.#requireKnownOutboxes()
      if (options.mode !== 'WRITER_ONLY') explorer.register(name, registry)
      if (options.autoStart) await outbox.start()
    } catch (error) {
      // Nest 11 calls no hook to shut down an application that did not start.
      await outbox.close()
      throw error
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#parts.outbox.close()
  }

  #requireKnownOutboxes(): void {
    const { explorer, modules } = this.#parts
    const providers = [...modules.values()].map((each) => each.providers)
    for (const [name, listener] of explorer.outboxNames()) {
      if (providers.some((each) => each.has(getOutboxToken(name)))) continue
      throw new OutboxError(
        'OUTBOX_INVALID_OPTION',
        `${listener} listens to the outbox "${name}", but the application has none of this name. Add OutboxModule.forRoot({ name: '${name}', … }), or correct the option "outbox" of the decorator.`,
      )
    }
  }
}

function twice(name: string): OutboxError {
  return new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `The application has two outboxes of the name "${name}". Give one of them another name: OutboxModule.forRoot({ name: 'orders', … }).`,
  )
}
