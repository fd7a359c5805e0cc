import { OutboxError } from '../errors.ts'
import { anything, checkOptions } from '../options.ts'
import {
  type OutboxControls,
  type PauseTarget,
  requireParts,
  type Row,
  type StoreParts,
} from '../store/index.ts'

/**
 * What is paused, as this process knows it. The store itself leaves paused rows alone; this is for
 * rows that are in memory already, or on their way past the store through the hot path.
 */
export class Pauses {
  readonly #store: Pick<StoreParts, 'controls'>
  #eventTypes: ReadonlySet<string> = new Set()
  #destinations: ReadonlySet<string> = new Set()
  #refreshing: Promise<void> | undefined

  constructor(controls: OutboxControls | undefined) {
    this.#store = { controls }
  }

  get #controls(): OutboxControls {
    return requireParts(this.#store, ['controls'], 'Pausing').controls
  }

  async pause(target: PauseTarget): Promise<void> {
    checkTarget(target)
    await this.#controls.pause(target)
    this.update(await this.#controls.paused())
  }

  /** What is paused, by the store's word. */
  async paused(): Promise<readonly PauseTarget[]> {
    return this.#controls.paused()
  }

  async resume(target: PauseTarget): Promise<void> {
    checkTarget(target)
    await this.#controls.resume(target)
    this.update(await this.#controls.paused())
  }

  /** Asks the store what is paused. A store that fails leaves it as it was, until the next heartbeat. */
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
    // Mostly nothing is, and names need not be looked up.
    if (this.#eventTypes.size + this.#destinations.size === 0) return false
    return this.#eventTypes.has(eventType) || this.#destinations.has(destination)
  }
}

function checkTarget(target: PauseTarget): void {
  checkOptions('a pause', target, { eventType: anything, destination: anything })
  const [value, ...more] = Object.values(target) as unknown[]
  if (typeof value === 'string' && more.length === 0) return
  throw new OutboxError('OUTBOX_INVALID_OPTION', 'Name what to pause: { eventType } or { destination }.')
}
