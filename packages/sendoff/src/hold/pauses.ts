import {
  type NewAuditEntry,
  type OutboxControls,
  type PauseTarget,
  requireParts,
  type Row,
  type StoreParts,
} from '../store/index.ts'
import { pauseTargetOf } from '../store/names.ts'

/**
 * The pauses, as this process knows them. The store itself skips paused rows. These pauses are for rows that
 * are in memory already, or that bypass the store through the hot path.
 */
export class Pauses {
  readonly #store: Pick<StoreParts, 'controls'>
  readonly #actor: string | null
  #eventTypes: ReadonlySet<string> = new Set()
  #destinations: ReadonlySet<string> = new Set()
  #refreshing: Promise<void> | undefined

  /** `actor` is the actor of pauses in the audit. */
  constructor(controls: OutboxControls | undefined, actor: string | null = null) {
    this.#store = { controls }
    this.#actor = actor
  }

  get #controls(): OutboxControls {
    return requireParts(this.#store, ['controls'], 'Pausing').controls
  }

  async pause(given: PauseTarget): Promise<void> {
    const target = pauseTargetOf('pause', given)
    await this.#controls.pause(target, this.#entry('pause', target))
    this.update(await this.#controls.paused())
  }

  /** Reads from the store what is paused. */
  async paused(): Promise<readonly PauseTarget[]> {
    return this.#controls.paused()
  }

  async resume(given: PauseTarget): Promise<void> {
    const target = pauseTargetOf('resume', given)
    await this.#controls.resume(target, this.#entry('resume', target))
    this.update(await this.#controls.paused())
  }

  #entry(action: string, target: PauseTarget): NewAuditEntry {
    return { actor: this.#actor, action, detail: JSON.stringify(target) }
  }

  /**
   * Reads the pauses again from the store. If the store fails, they stay as they are until the next
   * heartbeat.
   */
  refresh(): Promise<void> {
    this.#refreshing ??= this.paused()
      .then(
        (paused) => this.update(paused),
        () => {},
      )
      .finally(() => (this.#refreshing = undefined))
    return this.#refreshing
  }

  update(paused: readonly PauseTarget[]): void {
    this.#eventTypes = new Set(paused.flatMap((target) => ('eventType' in target ? [target.eventType] : [])))
    this.#destinations = new Set(
      paused.flatMap((target) => ('destination' in target ? [target.destination] : [])),
    )
  }

  isPaused({ eventType, destination }: Pick<Row, 'eventType' | 'destination'>): boolean {
    // Mostly nothing is paused, and no lookup is needed.
    if (this.#eventTypes.size + this.#destinations.size === 0) return false
    return this.#eventTypes.has(eventType) || this.#destinations.has(destination)
  }
}
