import type { OutboxLocks } from '../../store/index.ts'
import { destinationArgument } from './claim-rows.ts'
import type { RunScript } from './drivers/run-script.ts'
import { acquireLockScript, releaseLockScript, renewLockScript } from './scripts/lock-scripts.ts'

/** The named locks of a Redis store. */
export function redisLocks(run: RunScript): OutboxLocks {
  return {
    acquire: async ({ lock, token, ttlMs, destination }) =>
      (await run(acquireLockScript, [lock, token, String(ttlMs), destinationArgument(destination)])) === 1,
    renew: async ({ lock, token, ttlMs }) => (await run(renewLockScript, [lock, token, String(ttlMs)])) === 1,
    release: async ({ lock, token }) => void (await run(releaseLockScript, [lock, token])),
  }
}
