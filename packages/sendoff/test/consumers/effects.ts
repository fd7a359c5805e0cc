import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { ConsumedMessage, ConsumerInbox } from '../../src/consumers/shared.ts'
import { Inbox } from '../../src/inbox/index.ts'
import type { Logger } from '../../src/observe/logger.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import type { WriterOutbox } from '../../src/outbox/writer-outbox.ts'
import type { StoredRow, StoreWith } from '../../src/store/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { until } from '../fixtures/outbox-fixture.ts'

/** The database of a consumer. An effect of a message is an event of the type `Effect`. */
export class Effects {
  readonly file: string
  readonly outbox: WriterOutbox<any, any, any, any>
  /** Keeps the outcomes of its calls. */
  readonly inbox: ConsumerInbox<any>
  readonly processed: string[] = []
  readonly accepted: string[] = []
  readonly log: string[] = []
  readonly logger: Logger
  /** The warnings of the outbox and its inbox. */
  readonly warnings: string[] = []
  readonly #store: StoreWith<any, 'people'>

  /** Opens the database in a file, as several processes can. */
  static async open(file: string): Promise<Effects> {
    const effects = new Effects(file)
    await effects.outbox.start()
    return effects
  }

  /** Opens a database of a test, in a folder that the test removes. */
  static async forTest(test: { after(callback: () => unknown): void }): Promise<Effects> {
    const folder = mkdtempSync(join(tmpdir(), 'sendoff-consumer-'))
    const effects = await Effects.open(join(folder, 'app.db'))
    test.after(async () => {
      await effects.outbox.close()
      rmSync(folder, { recursive: true, force: true })
    })
    return effects
  }

  private constructor(file: string) {
    this.file = file
    this.#store = sqliteStore({ open: () => new DatabaseSync(file, { timeout: 10_000 }) })
    const warn = (line: string): void => void this.warnings.push(line)
    this.outbox = Outbox.writerOnly({
      store: this.#store,
      logger: { debug() {}, info() {}, warn, error: warn },
    })
    const inbox = new Inbox({ outbox: this.outbox, consumer: 'tested' })
    this.inbox = {
      consumer: inbox.consumer,
      process: async (...args) => {
        const outcome = await inbox.process(...args)
        this.processed.push(outcome)
        return outcome
      },
      accept: async (message) => {
        const acceptance = await inbox.accept(message)
        this.accepted.push(acceptance.outcome)
        return acceptance
      },
      expectRedelivery: (...args) => inbox.expectRedelivery(...args),
    }
    const keep = (line: string): void => void this.log.push(line)
    this.logger = { debug() {}, info() {}, warn: keep, error: keep }
  }

  /** A handler that has an effect. */
  readonly handler = async (message: ConsumedMessage): Promise<void> => {
    await this.outbox.write('Effect', message.payload, { aggregateId: message.id })
  }

  /** Resolves when this number of messages was processed. The consumer may acknowledge them then. */
  untilProcessed(count: number): Promise<void> {
    return until(() => this.processed.filter((outcome) => outcome !== 'busy').length >= count)
  }

  /** Returns the ids of messages with an effect, in the order of the effects. */
  async ids(): Promise<string[]> {
    return (await this.rows('Effect')).map(({ aggregateId }) => aggregateId!)
  }

  async rows(eventType: string): Promise<readonly StoredRow[]> {
    return await this.#store.people.query({ eventType, limit: 10_000 })
  }
}
