import { pollerDefaults } from '../poll/outbox-poller.ts'
import type { PendingSource } from '../poll/pending-source.ts'
import { TypedClaimSource } from '../poll/typed-claim-source.ts'
import { hotPathOf } from './hot-path-of.ts'
import { usualLockTimes } from './lock-times.ts'
import type { Mode, ModeOptions, ModeParts } from './mode.ts'

/** Many processes deliver at once. Each leases the rows that it delivers. */
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

/**
 * With `onUnroutable: 'defer'`, this process claims only events that it has a listener for. Others wait for a
 * process that has one.
 */
function sourceOf({ listeners, poller, onUnroutable }: ModeOptions, parts: ModeParts): PendingSource {
  const { destination } = parts.scope
  return new TypedClaimSource({
    ...parts,
    destination,
    hasOthers: () => parts.scope.hasOthers(),
    types: () => (onUnroutable === 'defer' ? listeners.typesTo(destination) : undefined),
    intervalMs: poller?.intervalMs ?? pollerDefaults.intervalMs,
  })
}
