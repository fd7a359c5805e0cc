import type { Clock } from '../clock.ts'
import { OutboxError } from '../errors.ts'
import type { ClaimTypesAnswer, HeldRow, OutboxStore } from '../store/index.ts'

/** Time limits of store calls, in milliseconds. */
export interface AnswerTimes {
  /** For calls that the engine waits for: half a lease. */
  readonly callMs: number
  /** For a renewal of leases. It leaves time for other tries within the lease. */
  readonly renewMs: number
  /** For a renewal of the lock. It leaves time for other tries, too. */
  readonly lockRenewMs: number
  /** For looks at the table. They are a person's or a probe's, and not part of a delivery. */
  readonly lookMs: number
  /** For calls that may take long on a large table, such as a purge. */
  readonly patientMs: number
}

/**
 * Returns the limits for leases of `leaseMs`, and for a lock that is renewed `lockMarginMs` before the end of
 * its `lockTtlMs`.
 */
export function answerTimes(leaseMs: number, lockTtlMs = leaseMs, lockMarginMs = lockTtlMs / 2): AnswerTimes {
  return {
    callMs: leaseMs / 2,
    renewMs: leaseMs / 6,
    lockRenewMs: lockTryMs(lockTtlMs, lockMarginMs),
    // With short leases, a look at a large table would otherwise end the connections of its process.
    lookMs: Math.max(5_000, leaseMs / 2),
    patientMs: Math.max(60_000, leaseMs * 10),
  }
}

/**
 * How long one of three tries to renew a lock may take, if the first begins `marginMs` before the end of its
 * `ttlMs`.
 */
export function lockTryMs(ttlMs: number, marginMs: number): number {
  return Math.max(ttlMs / 50, (marginMs - ttlMs / 20) / 4)
}

type Limits<Target> = { readonly [Name in keyof Target]?: keyof AnswerTimes }

const ofStore: Limits<OutboxStore<never>> = {
  claim: 'callMs',
  claimTypes: 'callMs',
  pollPending: 'callMs',
  release: 'callMs',
  renew: 'renewMs',
  settle: 'callMs',
  checkSchema: 'callMs',
  ping: 'callMs',
  doctor: 'callMs',
  purge: 'patientMs',
  upkeep: 'patientMs',
}

const ofParts: {
  readonly [Part in keyof OutboxStore<never>]?: Limits<NonNullable<OutboxStore<never>[Part]>>
} = {
  locks: { acquire: 'callMs', release: 'callMs', renew: 'lockRenewMs' },
  lanes: { hold: 'callMs', read: 'callMs', readAll: 'callMs' },
  partitions: { acquire: 'callMs', release: 'callMs', shares: 'callMs' },
  nodes: { join: 'callMs', leave: 'callMs' },
  routing: { current: 'callMs', publish: 'callMs' },
  controls: { pause: 'callMs', paused: 'callMs', resume: 'callMs' },
  // The settler asks which settlements were written. Operators' calls are not limited.
  people: { query: 'callMs' },
  reports: { report: 'callMs', living: 'callMs', statistics: 'callMs', forgetStatistics: 'patientMs' },
  // Of the looks, metrics and health use these.
  looks: { tally: 'lookMs', scan: 'lookMs' },
  inbox: { purge: 'patientMs' },
  wakeUps: { announce: 'callMs' },
}

/**
 * Wraps a store so that every call the engine repeats has a time limit. A call without an answer, such as
 * over a half-open connection, has to fail so that the engine tries it again. The wrapper reports it to the
 * store, so that the next call does not use the dead connection. `onAnswered` is called after every call that
 * succeeds.
 */
export function answeringInTime<Tx>(
  store: OutboxStore<Tx>,
  clock: Clock,
  times: AnswerTimes,
  onAnswered: () => void = () => {},
): OutboxStore<Tx> {
  const parts = new Map(
    Object.entries(ofParts).map(([name, limits]) => {
      const part = Reflect.get(store, name) as object | undefined
      return [name, part && limitedCalls(part, limits as Readonly<Record<string, keyof AnswerTimes>>)]
    }),
  )
  return new Proxy(limitedCalls(store, ofStore as Readonly<Record<string, keyof AnswerTimes>>), {
    get: (target, name) =>
      parts.has(name as string) ? parts.get(name as string) : (Reflect.get(target, name) as unknown),
  })

  function limitedCalls<Target extends object>(
    target: Target,
    limits: Readonly<Record<string, keyof AnswerTimes>>,
  ): Target {
    const calls = new Map(
      Object.entries(limits).flatMap(([name, limit]) => {
        const call = Reflect.get(target, name) as ((...args: never[]) => Promise<unknown>) | undefined
        if (call === undefined) return []
        return [[name, (...args: never[]) => inTime(name, call.apply(target, args), times[limit])] as const]
      }),
    )
    return new Proxy(target, {
      get: (_, name) => calls.get(name as string) ?? (Reflect.get(target, name) as unknown),
    })
  }

  async function releaseClaimed(name: string, answer: unknown): Promise<void> {
    if (name === 'claim') await store.release(answer as readonly HeldRow[])
    if (name === 'claimTypes') await store.release((answer as ClaimTypesAnswer).rows)
  }

  function inTime<Answer>(name: string, call: Promise<Answer>, limitMs: number): Promise<Answer> {
    return new Promise((resolve, reject) => {
      let isAnswered = false
      const giveUp = () => {
        if (isAnswered) return
        reject(
          new OutboxError('OUTBOX_STORE_SILENT', `The store did not answer ${name}() within ${limitMs} ms.`),
        )
        store.dropSilent?.(limitMs)
        // Rows that the store claimed all the same would otherwise wait for the end of their lease.
        call.then((answer) => releaseClaimed(name, answer)).catch(() => {})
      }
      // After a blocked event loop, the answer may have arrived already. It is read after the timers.
      const cancel = clock.schedule(limitMs, () => clock.defer(giveUp))
      const ended = () => {
        isAnswered = true
        cancel()
      }
      call.then(
        (answer) => {
          ended()
          resolve(answer)
          onAnswered()
        },
        (error: unknown) => {
          ended()
          reject(error)
        },
      )
    })
  }
}
