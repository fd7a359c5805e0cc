import type { SendContext } from './mail-transport.ts'

/**
 * Runs a call of a transport, and waits for at most `timeoutMs` or until the signal aborts. The call may
 * still succeed after that: few transports can be stopped.
 */
export async function inTime<Result>(
  work: (context: SendContext) => Promise<Result>,
  context: SendContext,
  timeoutMs: number,
): Promise<Result> {
  const limit = new AbortController()
  const tooLate = new Error(`There was no answer within ${timeoutMs} ms.`)
  const timer = setTimeout(() => limit.abort(tooLate), timeoutMs)
  const signal = AbortSignal.any([context.signal, limit.signal])
  const stopped = Promise.withResolvers<never>()
  const stop = () => stopped.reject(signal.reason)
  signal.addEventListener('abort', stop)
  try {
    context.signal.throwIfAborted()
    return await Promise.race([work({ signal }), stopped.promise])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}
