import type { ModuleRef } from '@nestjs/core'
import type { WriterOutbox } from 'sendoff'
import { getOutboxToken } from './outbox-tokens.ts'

/** A result in the form that `@nestjs/terminus` takes. */
export type OutboxHealthResult<Key extends string = string> = Record<
  Key,
  {
    readonly status: 'up' | 'down'
    /** What is wrong, in words. */
    readonly problems: readonly string[]
    /** How many milliseconds the oldest due event has waited; undefined if the store does not say. */
    readonly lagMs?: number
  }
>

/** Options of `OutboxHealthIndicator.isHealthy`. */
export interface OutboxHealthOptions {
  /** The name of the outbox. Default: the one without a name. */
  readonly outbox?: string
  /** With `live`, only a process that has to be restarted is down. Default: `ready`. */
  readonly probe?: 'live' | 'ready'
}

/** A health indicator for `@nestjs/terminus`: `health.check([() => indicator.isHealthy('outbox')])`. */
export class OutboxHealthIndicator {
  readonly #moduleRef: ModuleRef

  constructor(moduleRef: ModuleRef) {
    this.#moduleRef = moduleRef
  }

  /** Returns whether the outbox is ready, or live, under the given key. */
  async isHealthy<Key extends string>(
    key: Key,
    { outbox: name, probe = 'ready' }: OutboxHealthOptions = {},
  ): Promise<OutboxHealthResult<Key>> {
    const outbox = this.#moduleRef.get<WriterOutbox<unknown>>(getOutboxToken(name), {
      strict: false,
    })
    const { isLive, isReady, problems, table } = await outbox.health()
    const isUp = probe === 'live' ? isLive : isReady
    const lagMs = table?.lagMs
    const result = { status: isUp ? 'up' : 'down', problems, ...(lagMs !== undefined && { lagMs }) }
    return { [key]: result } as OutboxHealthResult<Key>
  }
}
