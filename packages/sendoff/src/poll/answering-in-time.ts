import type { Clock } from '../clock.ts'
import { OutboxError } from '../errors.ts'
import type { OutboxStore } from '../store.ts'

const limited = ['claim', 'pollPending', 'release', 'renew', 'settle'] as const

/**
 * The store, with a time limit on every call that the engine repeats: one that is never answered,
 * such as over a connection that is half open, must fail like any other and be tried again.
 */
export function answeringInTime<Tx>(store: OutboxStore<Tx>, clock: Clock, limitMs: number): OutboxStore<Tx> {
  const inTime = <Answer>(name: string, call: Promise<Answer>): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const cancel = clock.schedule(limitMs, () => {
        reject(
          new OutboxError('OUTBOX_STORE_SILENT', `The store did not answer ${name}() within ${limitMs} ms.`),
        )
      })
      call.then(resolve, reject).finally(cancel)
    })

  const calls = Object.fromEntries(
    limited.map((name) => [
      name,
      (...args: never[]) => inTime(name, (store[name] as (...args: never[]) => Promise<unknown>)(...args)),
    ]),
  )
  return new Proxy(store, {
    get: (target, name) => calls[name as string] ?? (Reflect.get(target, name) as unknown),
  })
}
