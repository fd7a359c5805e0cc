import type { EventEnvelope } from '../event/event-envelope.ts'
import type { WriterHook } from '../write/writer-hook.ts'

/** The methods of a writer hook. */
export type WriterMoment = 'beforeWrite' | 'afterWrite' | 'afterCommit' | 'afterRollback'

/** One call of a writer hook. */
export interface WriterHookCall {
  readonly moment: WriterMoment
  readonly events: readonly EventEnvelope[]
}

/** Records every hook call of every write. It changes nothing, unless the test gives it a `beforeWrite`. */
export class RecordingWriterHook implements WriterHook {
  /** All calls, in order. */
  readonly calls: WriterHookCall[] = []
  readonly #beforeWrite: NonNullable<WriterHook['beforeWrite']>

  constructor(beforeWrite: NonNullable<WriterHook['beforeWrite']> = (events) => events) {
    this.#beforeWrite = beforeWrite
  }

  get moments(): WriterMoment[] {
    return this.calls.map(({ moment }) => moment)
  }

  /** Inserted events, whether or not their transactions committed. */
  get written(): EventEnvelope[] {
    return this.#eventsOf('afterWrite')
  }

  get committed(): EventEnvelope[] {
    return this.#eventsOf('afterCommit')
  }

  get rolledBack(): EventEnvelope[] {
    return this.#eventsOf('afterRollback')
  }

  beforeWrite(events: readonly EventEnvelope[]): ReturnType<NonNullable<WriterHook['beforeWrite']>> {
    this.calls.push({ moment: 'beforeWrite', events })
    return this.#beforeWrite(events)
  }

  afterWrite(events: readonly EventEnvelope[]): void {
    this.calls.push({ moment: 'afterWrite', events })
  }

  afterCommit(events: readonly EventEnvelope[]): void {
    this.calls.push({ moment: 'afterCommit', events })
  }

  afterRollback(events: readonly EventEnvelope[]): void {
    this.calls.push({ moment: 'afterRollback', events })
  }

  #eventsOf(wanted: WriterMoment): EventEnvelope[] {
    return this.calls.flatMap(({ moment, events }) => (moment === wanted ? events : []))
  }
}
