import { inTime } from '../answers.ts'
import { nextTurn } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import { OutboxError } from '../errors.ts'
import type { MessageRuns } from './message-runs.ts'

/** A consumer of messages. */
export interface MessageConsumer extends AsyncDisposable {
  /**
   * Begins to consume. Rejects if the broker refuses or cannot be reached. After this has resolved, the
   * consumer waits for the end of an outage by itself.
   */
  start(): Promise<this>
  /**
   * Stops taking messages, waits for running handlers within the time limit, and acknowledges what has
   * committed. The broker keeps the rest. Close the consumer before the outbox of its inbox, and before the
   * client of the broker.
   */
  close(): Promise<void>
}

/** The part of a consumer that is particular to one client. */
export interface Reader {
  /** Begins to read. */
  start(): Promise<void>
  /** Takes no more messages. Those that run go on. */
  stop(): Promise<void>
  /** Acknowledges what has committed, and closes what the reader has opened. */
  finish(): Promise<void>
}

/** How long the broker may take to close, in milliseconds. */
const finishMs = 5_000

/** Makes a consumer from its reader. `onStarted` is called once, when the broker can be asked. */
export function messageConsumer(runs: MessageRuns, reader: Reader, onStarted: () => void): MessageConsumer {
  let started: Promise<void> | undefined
  let closed: Promise<void> | undefined

  /** Runs a step of closing, which must neither fail nor take for ever. */
  const step = async (work: () => Promise<void>): Promise<void> => {
    try {
      await inTime(finishMs, work)
    } catch (error) {
      runs.logger.warn(`${runs.name}: closing the consumer failed in part. ${describeError(error)}`)
    }
  }

  return {
    async start() {
      if (closed !== undefined) {
        throw new OutboxError('OUTBOX_CLOSED', `The consumer of ${runs.name} is closed. Make another one.`)
      }
      started ??= reader.start().then(onStarted)
      try {
        await started
      } catch (error) {
        started = undefined
        throw error
      }
      return this
    },

    close() {
      return (closed ??= (async () => {
        runs.beginClose()
        if (started === undefined) return
        await step(() => reader.stop())
        await runs.settled()
        // Messages that have just ended are acknowledged in this turn.
        await nextTurn(runs.clock)
        await step(() => reader.finish())
      })())
    },

    [Symbol.asyncDispose]() {
      return this.close()
    },
  }
}
