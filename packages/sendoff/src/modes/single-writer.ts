import type { OutboxDispatcherOptions } from '../dispatch/dispatcher-options.ts'
import type { NamedLock } from '../hold/named-lock.ts'
import type { Tracer } from '../observe/tick-span.ts'
import { OwnerSource } from '../poll/owner-source.ts'
import { SingleWriterSource } from '../poll/single-writer-source.ts'
import { CircuitBreaker, type CircuitBreakerOptions } from '../process/circuit-breaker.ts'
import { destinationOutage } from '../process/destination-outage.ts'
import { FailurePause } from '../process/failure-pause.ts'
import { dispatchingUnderLock } from './dispatching-under-lock.ts'
import { hotPathOf } from './hot-path-of.ts'
import type { LockTimes } from './lock-times.ts'
import type { Mode, ModeOptions, ModeParts } from './mode.ts'
import { singleWriterDefaults } from './mode-defaults.ts'
import { lockOfDestination, losingRowsWith, namedLockOf, pollerLock } from './named-lock-of.ts'

interface SingleWriterSettings extends ModeOptions {
  readonly lock?: Partial<LockTimes> & { readonly name?: string }
  readonly circuitBreaker?: CircuitBreakerOptions | false
  readonly tracer?: Tracer
}

/**
 * The most unsettled deliveries of a tick. If the lock is lost, they are sent again, so there must not be
 * many.
 */
const tickUnsettled = 500

/**
 * One process at a time polls: the one that gets the lock of a tick. Each process also sends its own events
 * right after their commits, through a circuit breaker.
 */
export const singleWriter: Mode<SingleWriterSettings> = {
  lockTimes,

  open(options, parts) {
    const { lock: { name = pollerLock } = {}, tracer } = options
    const { destination } = parts.scope
    const lock = namedLockOf(parts, {
      ...lockTimes(parts.lease.ms, options),
      name: lockOfDestination(name, parts),
      destination,
    })
    losingRowsWith(lock, parts)
    const breaker = breakerOf(options, parts)
    const source = new OwnerSource({ ...parts, lock, destination })
    return {
      lock,
      breaker,
      dispatching: {
        ...dispatchingUnderLock(lock, source, parts),
        ...(breaker && { breaker }),
        ...withPauses(lock, breaker, parts),
        workerCount: options.workerCount ?? singleWriterDefaults.workerCount,
        maxUnsettled: tickUnsettled,
      },
      polling: { batchSize: singleWriterDefaults.batchSize },
      connect: (dispatcher) => ({
        source: new SingleWriterSource({
          source,
          lock,
          logger: parts.logger,
          tracer,
          untilSettled: (deliveries) => dispatcher.untilSettled(deliveries),
        }),
        hotPath: hotPathOf(dispatcher, options, parts, breaker),
      }),
    }
  },
}

function lockTimes(leaseMs: number, { lock = {} }: SingleWriterSettings): LockTimes {
  const { ttlMs = leaseMs, renewMarginMs = ttlMs / 3 } = lock
  return { ttlMs, renewMarginMs }
}

function breakerOf(
  options: SingleWriterSettings,
  { clock, logger, metrics, events, scope }: ModeParts,
): CircuitBreaker | undefined {
  const circuitBreaker = scope.breaker ?? options.circuitBreaker ?? {}
  if (circuitBreaker === false) return undefined
  const tell = destinationOutage({ clock, events }, scope.destination)
  return new CircuitBreaker(circuitBreaker, {
    clock,
    logger,
    onState(state) {
      metrics.recordCircuitBreakerState(state)
      tell(state)
    },
  })
}

/** Begins no delivery shortly before the lock runs out, and none for a while after all have failed. */
function withPauses(
  lock: NamedLock,
  breaker: CircuitBreaker | undefined,
  { clock }: ModeParts,
): Partial<OutboxDispatcherOptions> {
  if (breaker === undefined) return { mayBegin: (again) => lock.hasTimeLeft(again) }
  const failures = new FailurePause({ clock, pauseMs: breaker.coolDownMs })
  return {
    mayBegin: (again) => failures.isOver(again) && lock.hasTimeLeft(again),
    onOutcome: (outcome) => failures.ended(outcome),
  }
}
