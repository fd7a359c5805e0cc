import { type Clock, delay, systemClock } from '../../../packages/sendoff/src/clock.ts'
import type { EventEnvelope } from '../../../packages/sendoff/src/event/event-envelope.ts'
import { DispatchResult } from '../../../packages/sendoff/src/route/dispatch-result.ts'
import type { DispatchContext, ListenerAnswer } from '../../../packages/sendoff/src/route/event-listener.ts'
import { ListenerRegistry } from '../../../packages/sendoff/src/route/listener-registry.ts'
import type { ProcessHistory } from '../history/process-history.ts'
import type { Act, Behaviour } from '../history/history-record.ts'
import { brokenDestination, rowName, twoDestinations } from '../history/rows-of-events.ts'

export interface PlannedPayload {
  readonly behaviour: Behaviour
  /** By the machine's monotonic clock, because clocks with a date may be wrong. */
  readonly writtenAt: number
}

/** Returns the types that a process has a listener for. */
export function heardTypes(name: string, listenersDiffer: boolean): readonly string[] {
  const isOdd = Number(/\d+/.exec(name)?.[0]) % 2 === 1
  const own = isOdd ? ['HeardByOdd'] : ['HeardByEven']
  return ['Planned', 'Hanging', ...(listenersDiffer ? own : ['HeardByOdd', 'HeardByEven'])]
}

export interface ListenerTimes {
  readonly leaseMs: number
  /** How long a hanging listener runs before it is told to stop, in ms. */
  readonly hangTimeoutMs: number
  /** Far longer than the total wait for a hanging listener, in ms. */
  readonly hangMs: number
  /** How long the others take at most, in ms. */
  readonly longestMs: number
  /** How long a listener takes that closing does not wait for, in ms. */
  readonly outlastCloseMs: number
  /** When the second destination cannot be reached, by the clock of the history; undefined without it. */
  readonly broken?: { readonly from: number; readonly to: number } | undefined
}

export const plannedError = 'A planned failure.'
export const plannedReason = 'Given up as planned.'

/**
 * Returns the event type for a behaviour. Events that hang have a type of their own, with its own time limit.
 * No process listens for `Unheard`. If listeners differ, slots with an odd number listen for `HeardByOdd`,
 * and the others for `HeardByEven`.
 */
export function eventTypeOf(behaviour: Behaviour): string {
  if (behaviour === 'unheard') return 'Unheard'
  if (behaviour === 'heardByOdd') return 'HeardByOdd'
  if (behaviour === 'heardByEven') return 'HeardByEven'
  return behaviour === 'hangOnce' ? 'Hanging' : 'Planned'
}

/** The process that listeners run in. */
export interface ListenerHost {
  readonly clock: Clock
  readonly random: () => number
  /** Ends the process at once. */
  kill(): void
  /** Keeps the process from doing anything else for a while. */
  block(ms: number): void
}

const realProcess: ListenerHost = {
  clock: systemClock,
  random: Math.random,
  kill: () => void process.kill(process.pid, 'SIGKILL'),
  block: (ms) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms),
}

/** Returns listeners that do what an event's payload says, and record it. */
export function plannedListeners(
  history: ProcessHistory,
  types: readonly string[],
  times: ListenerTimes,
  host: ListenerHost = realProcess,
): ListenerRegistry {
  let deliveries = 0

  const listener = async (
    event: EventEnvelope<PlannedPayload>,
    context: DispatchContext,
  ): Promise<ListenerAnswer> => {
    const eventId = rowName({ eventId: event.eventId, destination: context.destination })
    const delivery = ++deliveries
    const now = history.now()
    const { broken } = times
    // A deferral would end the row of processes that a poison event has ended.
    const isBroken =
      context.destination === brokenDestination &&
      event.payload.behaviour !== 'poison' &&
      broken !== undefined &&
      now >= broken.from &&
      now < broken.to
    const act = isBroken ? 'defer' : actOf(event, context.attempt, now)
    history.say({
      kind: 'start',
      delivery,
      event: eventId,
      token: context.fencingToken,
      attempt: context.attempt,
      ...(context.epoch !== undefined && { epoch: context.epoch }),
      act,
    })
    if (act === 'killProcess') {
      history.say({ kind: 'fault', fault: 'kill', target: history.process })
      host.kill()
    }
    const onAbort = () => history.say({ kind: 'aborted', delivery, event: eventId })
    if (context.signal.aborted) onAbort()
    else context.signal.addEventListener('abort', onAbort)
    if (event.payload.behaviour === 'block') host.block(times.leaseMs * 0.6)
    await delay(host.clock, act === 'hang' ? times.hangMs : durationOf(event.payload.behaviour, times, host))
    context.signal.removeEventListener('abort', onAbort)
    history.say({ kind: 'end', delivery, event: eventId, act })

    if (act === 'fail') throw new Error(plannedError)
    if (act === 'defer') return DispatchResult.retryAfter(200)
    if (act === 'giveUp') return DispatchResult.dead(plannedReason)
  }

  const registry = new ListenerRegistry()
  for (const destination of times.broken === undefined ? [''] : twoDestinations) {
    for (const type of types) {
      registry.register(
        type,
        listener as (event: EventEnvelope, context: DispatchContext) => Promise<ListenerAnswer>,
        { destination, ...(type === 'Hanging' && { timeoutMs: times.hangTimeoutMs }) },
      )
    }
  }
  return registry
}

function actOf(event: EventEnvelope<PlannedPayload>, attempt: number, now: number): Act {
  switch (event.payload.behaviour) {
    case 'failOnce':
      return attempt === 1 ? 'fail' : 'succeed'
    case 'alwaysFail':
      return 'fail'
    case 'deferAtFirst':
      return now - event.payload.writtenAt < 500 ? 'defer' : 'succeed'
    case 'hangOnce':
      return attempt === 1 ? 'hang' : 'succeed'
    case 'giveUp':
      return 'giveUp'
    case 'poison':
      return 'killProcess'
    default:
      return 'succeed'
  }
}

function durationOf(
  behaviour: Behaviour,
  { leaseMs, longestMs, outlastCloseMs }: ListenerTimes,
  { random }: ListenerHost,
): number {
  if (behaviour === 'outlastClose') return outlastCloseMs
  if (behaviour === 'slow') return 150
  return behaviour === 'outlastLease' ? leaseMs * 1.6 : 5 + random() * (longestMs - 5)
}
