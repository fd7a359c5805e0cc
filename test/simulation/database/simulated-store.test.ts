import { describe, it } from 'node:test'
import { skipReason } from '../../../packages/sendoff/src/testing/store-check.ts'
import { storeChecks } from '../../../packages/sendoff/src/testing/store-checks/index.ts'
import { randomDelays } from '../world/delays.ts'
import { Network } from '../world/network.ts'
import { ProcessCalls } from '../world/process-calls.ts'
import { SimulatedProcess } from '../world/simulated-process.ts'
import { VirtualTime } from '../world/virtual-time.ts'
import { SimulatedDatabase } from './simulated-database.ts'
import { simulatedStore } from './simulated-store.ts'

// The checks that every real store passes. They show that the simulated database keeps the same promises.
describe('simulated store', () => {
  for (const [index, check] of storeChecks.entries()) {
    const skip = skipReason(check, { ...openWorld(0), spoil: undefined! })
    it(check.name, { skip }, async () => {
      const world = openWorld(index)
      const run = check.run({ store: world.store, another: world.another, wait: world.wait })
      await world.live(run)
    })
  }
})

function openWorld(seed: number) {
  const time = new VirtualTime()
  const delays = randomDelays(seed)
  const short = { nextMs: (actor: string) => delays.nextMs(actor) / 1_000 }
  const db = new SimulatedDatabase(time, (actor) => short.nextMs(actor))
  const network = new Network(time, short, 60_000)
  let opened = 0
  const open = () => {
    const name = `process${++opened}`
    return simulatedStore(db, new ProcessCalls(new SimulatedProcess(name, name, time), db, network))
  }
  return {
    store: open(),
    another: async () => open(),
    wait: (ms: number) => new Promise<void>((resolve) => void time.schedule(ms, resolve)),
    /** Lets the world live until a promise is settled. */
    async live(work: Promise<void>): Promise<void> {
      let isOver = false
      const ended = work.finally(() => (isOver = true))
      ended.catch(() => {})
      while (!isOver) {
        await time.runUntil(() => isOver)
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
      await ended
    },
  }
}
