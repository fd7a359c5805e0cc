import { claimSource } from '../poll/claim-source.ts'
import { pollerDefaults } from '../poll/outbox-poller.ts'
import type { PendingSource } from '../poll/pending-source.ts'
import { TypedClaimSource } from '../poll/typed-claim-source.ts'
import { hotPathOf } from './hot-path-of.ts'
import { usualLockTimes } from './lock-times.ts'
import type { Mode, ModeOptions, ModeParts } from './mode.ts'

/** Many processes at once: each leases the events that it delivers. */
export const multiNode: Mode = {
  lockTimes: usualLockTimes,

  open(options, parts) {
    const source = sourceOf(options, parts)
    return {
      dispatching: { prefetch: { first: options.poller?.batchSize ?? pollerDefaults.batchSize } },
      polling: {},
      connect: (dispatcher) => ({ source, hotPath: hotPathOf(dispatcher, options, parts) }),
    }
  },
}

/** Where events without a listener wait for a process that has one, this process claims only those it can deliver. */
function sourceOf({ listeners, poller, onUnroutable }: ModeOptions, parts: ModeParts): PendingSource {
  if (onUnroutable !== 'defer') return claimSource(parts)
  return new TypedClaimSource({
    ...parts,
    listeners,
    intervalMs: poller?.intervalMs ?? pollerDefaults.intervalMs,
  })
}
