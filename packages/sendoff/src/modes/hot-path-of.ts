import type { OutboxDispatcher } from '../dispatch/outbox-dispatcher.ts'
import { DispatcherHotPath } from '../hot-path/dispatcher-hot-path.ts'
import { claimRows } from '../poll/claim-source.ts'
import type { CircuitBreaker } from '../process/circuit-breaker.ts'
import type { ModeOptions, ModeParts } from './mode.ts'

/** Makes the hot path from commits straight into a dispatcher. */
export function hotPathOf(
  dispatcher: OutboxDispatcher,
  { listeners }: ModeOptions,
  parts: ModeParts,
  breaker?: CircuitBreaker,
): DispatcherHotPath {
  return new DispatcherHotPath({
    ...parts,
    dispatcher,
    listeners,
    breaker,
    mayDeliver: () => parts.membership.isMember(),
    claimKeys: (keys) => claimRows(parts, keys, 'hot'),
  })
}
