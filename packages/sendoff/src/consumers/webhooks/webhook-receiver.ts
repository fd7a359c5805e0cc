import { count, duration } from '../../options.ts'
import { bodyWithin, isSigned, secretList } from '../../webhook-request.ts'
import { webhookKey } from '../../webhook-signature.ts'
import { checkConsumerOptions, consumerDefaults, type ConsumerOptions } from '../consumer-options.ts'
import { type IncomingMessage, plainHeaders } from '../incoming-message.ts'
import { MessageRuns, type RetryReason, type RunResult } from '../message-runs.ts'
import { expectRedelivery } from '../redelivery.ts'

/** Options of `webhookReceiver`. */
export interface WebhookReceiverOptions<Tx> extends ConsumerOptions<Tx> {
  /**
   * Secrets that the sender signs with, in base64, with or without `whsec_`. Give both while a new one
   * replaces an old one.
   */
  readonly secrets: readonly string[]
  /** How old a message may be, or how far ahead its time, in milliseconds. */
  readonly toleranceMs?: number
  /** The largest body, in bytes. */
  readonly maxBodyBytes?: number
}

/** Receives webhooks. It works with any server that uses the standard `Request` and `Response`. */
export interface WebhookReceiver extends AsyncDisposable {
  (request: Request): Promise<Response>
  /** Refuses further requests with 503, and waits for running handlers within the time limit. */
  close(): Promise<void>
}

/** Defaults of `webhookReceiver`. */
export const webhookReceiverDefaults = { toleranceMs: 300_000, maxBodyBytes: 1_048_576 }

/**
 * Returns a handler of requests that are signed by the rules of Standard Webhooks. It answers 2xx only after
 * the effects are committed, so that the sender sends the message again in every other case.
 *
 * The id of a message is the header `webhook-id`, because the signature covers it.
 */
export function webhookReceiver<Tx>(options: WebhookReceiverOptions<Tx>): WebhookReceiver {
  checkConsumerOptions(
    'webhookReceiver',
    options,
    { secrets: secretList, toleranceMs: duration, maxBodyBytes: count },
    ['secrets'],
  )
  options.secrets.forEach(webhookKey)
  const {
    secrets,
    toleranceMs = webhookReceiverDefaults.toleranceMs,
    maxBodyBytes = webhookReceiverDefaults.maxBodyBytes,
    concurrency = consumerDefaults.concurrency,
  } = options
  const runs = MessageRuns.of('Webhooks', {
    messageId: ({ headers }) => headers['webhook-id'],
    ...options,
  })
  void expectRedelivery(runs, options, ['the sender of webhooks'])
  let waiting = 0

  const receive = async (request: Request): Promise<Response> => {
    if (request.method !== 'POST') return answer(405)
    if (runs.closing.aborted || waiting >= waitingPerHandler * concurrency) return answer(503, defaultRetryMs)
    waiting += 1
    try {
      const body = await bodyWithin(maxBodyBytes, request).catch(() => null)
      if (body === null) return answer(400)
      if (body === undefined) return answer(413)
      if (!isSigned(request.headers, body, { secrets, toleranceMs })) return answer(401)
      return answerTo(await runs.run(messageOf(request, body)))
    } finally {
      waiting -= 1
    }
  }

  let closed: Promise<void> | undefined
  const close = (): Promise<void> => {
    runs.beginClose()
    return (closed ??= runs.settled())
  }
  return Object.assign(receive, { close, [Symbol.asyncDispose]: close })
}

/** Beyond this many requests for each handler that may run, the sender has to come later. */
const waitingPerHandler = 10
const defaultRetryMs = 1_000

/** Headers of the message. Others belong to the transport, and some of those are secret. */
const messageHeaders =
  /^(?:webhook-id|webhook-timestamp|ce-.*|event-.*|aggregate-.*|tenant-id|occurred-at|traceparent|tracestate|content-type|x-.*)$/

function messageOf(request: Request, body: Buffer): IncomingMessage {
  const headers = plainHeaders([...request.headers].filter(([name]) => messageHeaders.test(name)))
  return {
    source: new URL(request.url).pathname,
    headers,
    contentType: headers['content-type'],
    body,
    key: null,
  }
}

/** Senders give up on most 4xx, and count an attempt for 5xx without Retry-After. */
const statuses: Readonly<Record<RetryReason, number>> = {
  busy: 503,
  invalid: 422,
  failed: 500,
  unavailable: 503,
}

function answerTo(result: RunResult): Response {
  if (result === 'done' || result === 'dropped') return answer(204)
  if (result === 'left') return answer(503, defaultRetryMs)
  const status = statuses[result.why]
  return status === 503 ? answer(status, result.retryAfterMs) : answer(status)
}

function answer(status: number, retryAfterMs?: number): Response {
  const headers =
    retryAfterMs === undefined
      ? undefined
      : { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1_000))) }
  return new Response(null, { status, ...(headers && { headers }) })
}
