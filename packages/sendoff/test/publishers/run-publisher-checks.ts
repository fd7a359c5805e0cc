import { after, before, describe, it } from 'node:test'
import type { Publisher } from '../../src/publisher.ts'
import type {
  CheckedBroker,
  CheckedPublisherOptions,
  StoredMessage,
} from '../../src/testing/publisher-check.ts'
import { publisherChecks } from '../../src/testing/publisher-checks/index.ts'

/** A broker with a client on it. */
export interface BrokerUnderTest {
  /** Creates a destination on the broker. */
  makeDestination(name: string): Promise<string>
  readonly unknownDestination: string
  publisher(options: CheckedPublisherOptions): Promise<Publisher>
  stored(destination: string): Promise<readonly StoredMessage[]>
  /** Given only for a broker that no other test uses. */
  readonly broker?: CheckedBroker
  close(): Promise<void>
}

export interface PublisherUnderTest {
  readonly unknownDestinations: 'refused' | 'made'
  readonly tooLargeBytes: number | undefined
  readonly silence: 'waitedFor' | 'failed'
  readonly attributePrefix: string
  readonly encodesHeaders: boolean
  /** Opens the service that all tests share. */
  openShared(): Promise<BrokerUnderTest>
  /** Opens a broker of its own, because checks bring it down. */
  openPrivate(): Promise<BrokerUnderTest>
}

/** Runs the checks of publishers against a broker: the harmful ones against one of their own. */
export function runPublisherChecks(name: string, tested: PublisherUnderTest): void {
  for (const harmful of [false, true]) {
    describe(`${name}${harmful ? ', its broker in trouble' : ''}`, () => {
      let open: BrokerUnderTest
      before(async () => {
        open = await (harmful ? tested.openPrivate() : tested.openShared())
      })
      after(() => open.close())

      const checks = publisherChecks.filter(({ harmsBroker = false }) => harmsBroker === harmful)
      for (const [index, check] of checks.entries()) {
        it(check.name, async () => {
          const { unknownDestination } = open
          await check.run({
            ...tested,
            destination: await open.makeDestination(`check-${process.pid}-${index}`),
            unknownDestination,
            publisher: (options) => open.publisher(options),
            stored: (destination) => open.stored(destination),
            broker: open.broker ?? noBroker,
          })
        })
      }
    })
  }
}

const refuse = (): never => {
  throw new Error('A broker that others use must not be harmed.')
}
const noBroker: CheckedBroker = { kill: refuse, start: refuse, freeze: refuse, resume: refuse }
