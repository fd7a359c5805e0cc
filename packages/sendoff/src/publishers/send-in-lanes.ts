import { OutboxError } from '../errors.ts'
import type { Letter, SendResult } from './broker-publisher.ts'

/**
 * Sends messages of different keys side by side, and those of one key one after another, each when
 * the one before it is acknowledged. Behind a failed message the rest of its key is held.
 */
export async function sendInLanes<Message>(
  letters: readonly Letter<Message>[],
  sendOne: (message: Message) => Promise<unknown>,
): Promise<readonly SendResult[]> {
  const results: SendResult[] = letters.map(() => 'held')

  const run = async (lane: readonly number[]): Promise<void> => {
    for (const index of lane) {
      try {
        await sendOne(letters[index]!.message)
        results[index] = 'acknowledged'
      } catch (error) {
        results[index] = { error }
        return
      }
    }
  }
  await Promise.all(lanesOf(letters).map(run))
  return results
}

function lanesOf(letters: readonly Letter<unknown>[]): readonly (readonly number[])[] {
  const lanes: number[][] = []
  const byKey = new Map<string, number[]>()
  for (const [index, { key }] of letters.entries()) {
    const known = key === null ? undefined : byKey.get(key)
    if (known !== undefined) {
      known.push(index)
      continue
    }
    const lane = [index]
    lanes.push(lane)
    if (key !== null) byKey.set(key, lane)
  }
  return lanes
}

/** Rejects when the answer takes too long, or when `signal` aborts; the work itself may still go on. */
export function answerWithin<Answer>(
  answer: Promise<Answer>,
  timeoutMs: number,
  signal: AbortSignal,
  what: string,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => finish(() => reject(signal.reason as Error))
    const timer = setTimeout(() => finish(() => reject(silent(what, timeoutMs))), timeoutMs)
    const finish = (end: () => void): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      end()
    }
    signal.addEventListener('abort', onAbort, { once: true })
    answer.then(
      (value) => finish(() => resolve(value)),
      (error: unknown) => finish(() => reject(error)),
    )
  })
}

function silent(what: string, timeoutMs: number): OutboxError {
  return new OutboxError('OUTBOX_BROKER_SILENT', `${what} did not answer within ${timeoutMs} ms.`)
}

/** Whether an error says that there was no answer in time. */
export function isSilence(error: unknown): boolean {
  return error instanceof OutboxError && error.code === 'OUTBOX_BROKER_SILENT'
}
