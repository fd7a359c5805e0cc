import type { Clock } from '../clock.ts'
import { OutboxError } from '../errors.ts'
import type { OutboxStore } from '../store.ts'

const limited = ['claim', 'pollPending', 'release', 'renew', 'settle']
const limitedOfLocks = ['acquire', 'release', 'renew']
const limitedOfPartitions = ['acquire', 'hold', 'read', 'readAll', 'release', 'shares']

/**
 * The store, with a time limit on every call that the engine repeats: one that is never answered,
 * such as over a connection that is half open, must fail like any other and be tried again. `onAnswered` hears of every call
 * that succeeds.
 */
export function answeringInTime<Tx>(
  store: OutboxStore<Tx>,
  clock: Clock,
  limitMs: number,
  onAnswered: () => void = () => {},
): OutboxStore<Tx> {
  const inTime = <Answer>(name: string, call: Promise<Answer>): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const cancel = clock.schedule(limitMs, () => {
        reject(
          new OutboxError('OUTBOX_STORE_SILENT', `The store did not answer ${name}() within ${limitMs} ms.`),
        )
      })
      const answered = (answer: Answer) => {
        resolve(answer)
        onAnswered()
      }
      call.then(answered, reject).finally(cancel)
    })

  const limitedCalls = <Target extends object>(target: Target, names: readonly string[]): Target => {
    const calls = new Map(
      names.map((name) => {
        const call = Reflect.get(target, name) as (...args: never[]) => Promise<unknown>
        return [name, (...args: never[]) => inTime(name, call.apply(target, args))]
      }),
    )
    return new Proxy(target, {
      get: (_, name) => calls.get(name as string) ?? (Reflect.get(target, name) as unknown),
    })
  }

  const locks = limitedCalls(store.locks, limitedOfLocks)
  const partitions = store.partitions && limitedCalls(store.partitions, limitedOfPartitions)
  return new Proxy(limitedCalls(store, limited), {
    get(target, name) {
      if (name === 'locks') return locks
      if (name === 'partitions') return partitions
      return Reflect.get(target, name) as unknown
    },
  })
}
