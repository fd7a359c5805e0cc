import { exponentialBackoff } from '../retry/exponential-backoff.ts'
import type { MessageRuns } from './message-runs.ts'
import { Reconnection } from './reconnection.ts'

const delays = exponentialBackoff({ baseDelayMs: 200, maxDelayMs: 10_000 })

/**
 * Asks a broker for messages again and again, never for more than there is room for. It waits out outages,
 * with growing pauses.
 */
export class ReadLoop {
  readonly #runs: MessageRuns
  readonly #capacity: number
  readonly #read: (room: number) => Promise<void>
  readonly #reconnection: Reconnection
  readonly #answers = new Set<Promise<unknown>>()
  #taken = 0
  #onRoom: (() => void) | undefined
  #ended: Promise<void> | undefined

  /** `read` asks for up to `room` messages, and passes each to `take`. */
  constructor(runs: MessageRuns, capacity: number, read: (room: number) => Promise<void>) {
    this.#runs = runs
    this.#capacity = capacity
    this.#read = read
    this.#reconnection = new Reconnection(runs, () => Promise.resolve())
  }

  start(): void {
    this.#ended = this.#loop()
  }

  /** Resolves when the loop has ended, after the consumer began to close. */
  async ended(): Promise<void> {
    this.#onRoom?.()
    await this.#ended
  }

  /** Processes a message and answers the broker. The message takes up room until both have ended. */
  take<Result>(run: () => Promise<Result>, answer: (result: Result) => unknown): void {
    this.#taken += 1
    void run()
      .then((result) => this.#answer(result, answer))
      .finally(() => {
        this.#taken -= 1
        this.#onRoom?.()
      })
  }

  /** Resolves when the broker has all answers to messages that have ended. */
  async answered(): Promise<void> {
    await Promise.allSettled(this.#answers)
  }

  async #answer<Result>(result: Result, answer: (result: Result) => unknown): Promise<void> {
    const answered = (async () => answer(result))()
    this.#answers.add(answered)
    try {
      await answered
    } catch {
      // The broker delivers the message again, and the inbox knows it.
    }
    this.#answers.delete(answered)
  }

  async #loop(): Promise<void> {
    let faults = 0
    while (!this.#runs.closing.aborted) {
      const room = this.#capacity - this.#taken
      if (room === 0) {
        await new Promise<void>((resolve) => (this.#onRoom = resolve))
        continue
      }
      try {
        await this.#read(room)
        faults = 0
        this.#reconnection.restored()
      } catch (error) {
        this.#reconnection.lost(error, 'client')
        await this.#runs.wait(delays.computeDelayMs(++faults))
      }
    }
  }
}
