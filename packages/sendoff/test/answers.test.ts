import { deepEqual, equal, rejects } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inTime } from '../src/answers.ts'

const never = (): Promise<never> => new Promise(() => {})

describe('an answer in time', () => {
  it('is that of the call, also if that fails', async () => {
    equal(await inTime(10_000, async () => 7), 7)
    await rejects(
      inTime(10_000, () => Promise.reject(new Error('refused'))),
      /refused/,
    )
    await rejects(
      inTime(10_000, () => {
        throw new Error('at once')
      }),
      /at once/,
    )
  })

  it('is waited for no longer than the limit, and the call is told', async () => {
    let told: unknown
    const call = (signal: AbortSignal): Promise<never> => {
      signal.addEventListener('abort', () => (told = signal.reason))
      return never()
    }
    const error = await inTime(5, call).catch((reason: unknown) => reason)
    equal((error as Error).message, 'There was no answer within 5 ms.')
    equal(told, error)
    await rejects(inTime(5, never, { tooLate: (ms) => new Error(`silent for ${ms}`) }), /silent for 5/)
  })

  it('is not waited for after an abort, and not asked for if that came before', async () => {
    const stop = new AbortController()
    const seen: unknown[] = []
    const waiting = inTime(
      10_000,
      (signal) => {
        signal.addEventListener('abort', () => seen.push(signal.reason))
        return never()
      },
      { signal: stop.signal },
    )
    stop.abort(new Error('closing'))
    await rejects(waiting, /closing/)
    await rejects(
      inTime(10_000, async () => void seen.push('called'), { signal: stop.signal }),
      /closing/,
    )
    deepEqual(seen, [stop.signal.reason])
  })

  it('that comes late or fails late is ignored', async () => {
    const late = Promise.withResolvers<never>()
    await rejects(
      inTime(5, () => late.promise),
      /no answer/,
    )
    late.reject(new Error('too late'))
    await new Promise(setImmediate)
  })
})
