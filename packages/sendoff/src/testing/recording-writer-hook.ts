import type { EventEnvelope } from '../event/event-envelope.ts'
import type { WriterHook } from '../write/writer-hook.ts'

/** A moment of a write at which a hook is called. */
export type WriterMoment = 'beforeWrite' | 'afterWrite' | 'afterCommit' | 'afterRollback'

/** A call of the hook: its moment and its events. */
export interface WriterHookCall {
  readonly moment: WriterMoment
  readonly events: readonly EventEnvelope[]
}

/** Remembers every moment of every write, and changes nothing unless it is given a `beforeWrite` of the test's own. */
export class RecordingWriterHook implements WriterHook {
  /** In the order in which they came. */
  readonly calls: WriterHookCall[] = []
  readonly #beforeWrite: NonNullable<WriterHook['beforeWrite']>

  constructor(beforeWrite: NonNullable<WriterHook['beforeWrite']> = (events) => events) {
    this.#beforeWrite = beforeWrite
  }

  get moments(): WriterMoment[] {
    return this.calls.map(({ moment }) => moment)
  }

  /** Inserted, whatever became of their transactions. */
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
