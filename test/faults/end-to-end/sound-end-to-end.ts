import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type TemporaryFolder, temporaryFolder } from '../../services/machine/temporary-folder.ts'
import { debianPostgresServer } from '../../services/servers/postgres/postgres.ts'
import { scale, testSeed } from '../run/scale.ts'
import type { BrokerKind } from './end-to-end-process.ts'
import { type Effect, type KilledServer, runEndToEnd } from './end-to-end-run.ts'

export interface EndToEndBroker {
  readonly server: KilledServer
  /** A topic or a queue. */
  readonly destination: string
  close(): Promise<void>
}

const events = scale({ small: 200, full: 20_000 })
const faults = scale({ small: 4, full: 60 })
const keys = 20

/** Tests that every effect happens exactly once, from a database through a broker to another database. */
export function soundEndToEnd(
  kind: BrokerKind,
  isOrdered: boolean,
  openBroker: (folder: string) => Promise<EndToEndBroker>,
): void {
  describe(`an outbox, ${kind} and an inbox, all of them killed at random`, () => {
    it(`${events} events have one effect each${isOrdered ? ', in the order of their keys' : ''}`, async (test) => {
      const newFolder = (name: string): TemporaryFolder => {
        const folder = temporaryFolder(name)
        test.after(() => folder.remove())
        return folder
      }
      const newDatabase = async (name: string) => {
        const server = await debianPostgresServer(newFolder(name).path)
        test.after(() => server.kill())
        return server
      }
      const [shop, billing] = [await newDatabase('shop'), await newDatabase('billing')]
      const broker = await openBroker(newFolder('broker').path)
      test.after(() => broker.close())
      const seed = testSeed()
      test.diagnostic(`seed ${seed}: SENDOFF_TEST_SEED repeats the plan`)
      const { server, destination } = broker
      const run = { seed, events, keys, faults, kind, broker: server, destination, shop, billing }
      const { written, effects, ends } = await runEndToEnd(run)

      deepEqual(ends, [])
      equal(written.length, events)
      deepEqual(idsOf(effects).toSorted(), idsOf(written).toSorted())
      if (!isOrdered) return
      const byKey = Map.groupBy(effects, ({ key }) => key)
      for (const [key, ofKey] of byKey) {
        const numbers = ofKey.map(({ number }) => number)
        deepEqual(
          numbers,
          numbers.toSorted((a, b) => a - b),
          `the effects of ${key} are out of order`,
        )
      }
    })
  })
}

function idsOf(effects: readonly Effect[]): string[] {
  return effects.map(({ eventId }) => eventId)
}
