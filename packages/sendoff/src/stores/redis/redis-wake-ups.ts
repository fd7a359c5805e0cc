import type { OutboxWakeUps } from '../../store/index.ts'
import { textOfWakeUp, wakeUpIn } from '../wake-up-text.ts'
import type { RedisDriver } from './drivers/redis-driver.ts'
import type { RunScript } from './drivers/run-script.ts'
import { announceScript } from './scripts/upkeep-scripts.ts'

/** Signals by publish and subscribe. */
export interface RedisWakeUps extends OutboxWakeUps {
  /** Ends the connections of all listeners. */
  close(): Promise<void>
}

/** The signals of a Redis store on its channel. */
export function redisWakeUps(driver: RedisDriver, run: RunScript, channel: string): RedisWakeUps {
  const open = new Set<() => Promise<void>>()

  return {
    async listen(callback) {
      const end = await driver.subscribe(channel, (text) => callback(wakeUpIn(text)))
      open.add(end)
      return async () => {
        if (open.delete(end)) await end()
      }
    },

    announce: async (wakeUp = {}) => void (await run(announceScript, [channel, textOfWakeUp(wakeUp)])),

    async close() {
      const ends = [...open]
      open.clear()
      await Promise.all(ends.map((end) => end()))
    },
  }
}
