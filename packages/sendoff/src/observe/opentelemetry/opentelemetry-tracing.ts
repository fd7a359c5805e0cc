import { describeError } from '../../describe-error.ts'
import { checkOptions, having, oneOf, type OptionCheck, requireOptions } from '../../options.ts'
import type {
  DeliveryToTrace,
  MessageToTrace,
  TracedCall,
  TracedEnd,
  TracedTick,
  TracedWrite,
  Tracing,
  WriteToTrace,
} from '../tracing.ts'
import { sendoffVersion } from '../../version.ts'
import type {
  OpenTelemetryApi,
  OpenTelemetrySpan,
  OpenTelemetryTracer,
  SpanContext,
  SpanOptions,
} from './opentelemetry-api.ts'

/** Options of `openTelemetryTracing`. */
export interface OpenTelemetryTracingOptions<Context> {
  /** The API: `import * as api from '@opentelemetry/api'`. */
  readonly api: OpenTelemetryApi<Context>
  /** The tracer of the spans. Default: `api.trace.getTracer('sendoff')`. */
  readonly tracer?: OpenTelemetryTracer<Context>
  /**
   * How a delivery, or a message in an inbox, belongs to the trace of its write. With `'link'`, it is a trace
   * of its own with a link to the write. With `'parent'`, it is a part of the writer's trace. Default:
   * `'link'`.
   */
  readonly deliveries?: 'link' | 'parent'
}

/** Defaults of `openTelemetryTracing`. */
export const tracingDefaults = { deliveries: 'link' } as const

// The values of OpenTelemetry's enumerations.
const kinds = { internal: 0, client: 2, producer: 3, consumer: 4 }
const errorStatus = 2

/** How many links a span has at most, as in the SDK. */
const maxLinks = 128

/** Makes spans with OpenTelemetry, by its conventions for messaging. */
export function openTelemetryTracing<Context>(options: OpenTelemetryTracingOptions<Context>): Tracing {
  checkOptions('openTelemetryTracing', options, {
    api: apiCheck,
    tracer: having('startSpan'),
    deliveries: oneOf('link', 'parent'),
  })
  requireOptions('openTelemetryTracing', options, ['api'])
  return new OpenTelemetryTracing(options)
}

const apiCheck: OptionCheck = (value) =>
  having()(value) === undefined && 'trace' in (value as object) && 'propagation' in (value as object)
    ? undefined
    : "the module '@opentelemetry/api'"

class OpenTelemetryTracing<Context> implements Tracing {
  readonly #api: OpenTelemetryApi<Context>
  readonly #tracer: OpenTelemetryTracer<Context>
  readonly #isParent: boolean

  constructor({
    api,
    tracer,
    deliveries = tracingDefaults.deliveries,
  }: OpenTelemetryTracingOptions<Context>) {
    this.#api = api
    this.#tracer = tracer ?? api.trace.getTracer('sendoff', sendoffVersion)
    this.#isParent = deliveries === 'parent'
  }

  write({ eventType, eventId, count }: WriteToTrace): TracedWrite {
    const { context, propagation, trace } = this.#api
    const active = context.active()
    const span = this.#tracer.startSpan(
      `write ${eventType}`,
      {
        kind: kinds.producer,
        attributes: {
          ...messaging('write', 'create', eventType),
          ...(count === 1 ? { 'messaging.message.id': eventId } : { 'messaging.batch.message_count': count }),
        },
      },
      active,
    )
    const headers: Record<string, string> = {}
    propagation.inject(trace.setSpan(active, span as never), headers)
    headers.traceparent ??= traceparentOf(span.spanContext())
    return { headers, ...ending(span) }
  }

  deliver(delivery: DeliveryToTrace): TracedCall | undefined {
    const { eventId, eventType, destination, attempt, batchSize } = delivery
    const headers = delivery.headers === null ? undefined : recordedHeaders(delivery.headers)
    return (
      headers &&
      this.#continuing(headers, `deliver ${eventType}`, {
        ...messaging('deliver', 'process', eventType),
        'messaging.message.id': eventId,
        'sendoff.attempt': attempt,
        ...(destination !== '' && { 'sendoff.destination': destination }),
        ...(batchSize > 1 && { 'messaging.batch.message_count': batchSize }),
      })
    )
  }

  process(message: MessageToTrace): TracedCall | undefined {
    const { operation, messageId, messageType, consumer, headers } = message
    const { context, trace } = this.#api
    const name = `${operation} ${messageType ?? consumer}`
    const attributes = {
      ...messaging(operation, 'process', messageType),
      'messaging.message.id': messageId,
      'messaging.consumer.group.name': consumer,
    }
    const active = context.active()
    // Code that already runs in a span, such as a listener, has continued the trace by itself.
    if (trace.getSpanContext(active) === undefined) return this.#continuing(headers, name, attributes)
    return this.#call(this.#tracer.startSpan(name, { kind: kinds.consumer, attributes }, active), active)
  }

  /** Starts a span that continues the trace in these headers; undefined if that is not recorded. */
  #continuing(
    headers: Readonly<Record<string, string>>,
    name: string,
    attributes: Record<string, string | number>,
  ): TracedCall | undefined {
    if (!isRecorded(headers.traceparent)) return undefined
    const { propagation, trace, ROOT_CONTEXT } = this.#api
    const remote = propagation.extract(ROOT_CONTEXT, headers)
    const writer = trace.getSpanContext(remote) ?? spanContextOf(headers.traceparent)
    if (writer === undefined) return undefined
    const span = this.#tracer.startSpan(
      name,
      {
        kind: kinds.consumer,
        attributes,
        ...(!this.#isParent && { links: [{ context: writer }], root: true }),
      },
      remote,
    )
    return this.#call(span, remote)
  }

  #call(span: OpenTelemetrySpan, parent: Context): TracedCall {
    const { context, trace } = this.#api
    const inside = trace.setSpan(parent, span as never)
    return new DeliverySpan(span, (work) => context.with(inside, work))
  }

  settle(traced: readonly TracedCall[], count: number): TracedEnd {
    const links = traced
      .slice(0, maxLinks)
      .flatMap((call) => (call instanceof DeliverySpan ? { context: call.span.spanContext() } : []))
    return ending(
      this.#tracer.startSpan(
        'settle',
        {
          kind: kinds.client,
          attributes: { ...messaging('settle', 'settle'), 'messaging.batch.message_count': count },
          links,
        },
        this.#api.ROOT_CONTEXT,
      ),
    )
  }

  tick(startedAt: number): TracedTick {
    const { trace, ROOT_CONTEXT } = this.#api
    const span = this.#tracer.startSpan(
      'tick',
      { kind: kinds.internal, attributes: messaging('tick', 'receive'), startTime: startedAt },
      ROOT_CONTEXT,
    )
    const inside = trace.setSpan(ROOT_CONTEXT, span as never)
    const counted = (rows: number) => ({ 'messaging.batch.message_count': rows })
    return {
      claim: (claimedAt, rows) => {
        const options: SpanOptions = {
          kind: kinds.client,
          attributes: { ...messaging('claim', 'receive'), ...counted(rows) },
          startTime: claimedAt,
        }
        this.#tracer.startSpan('claim', options, inside).end()
      },
      end(rows, error) {
        span.setAttribute('messaging.batch.message_count', rows)
        ending(span).end(error)
      },
    }
  }
}

class DeliverySpan implements TracedCall {
  readonly span: OpenTelemetrySpan
  readonly #within: <Result>(work: () => Result) => Result

  constructor(span: OpenTelemetrySpan, within: <Result>(work: () => Result) => Result) {
    this.span = span
    this.#within = within
  }

  run<Result>(work: () => Result): Result {
    return this.#within(work)
  }

  end(outcome: string, error?: string): void {
    this.span.setAttribute('sendoff.outcome', outcome)
    ending(this.span).end(error)
  }
}

function ending(span: OpenTelemetrySpan): TracedEnd {
  return {
    end(error) {
      if (error !== undefined) {
        span.setAttribute('error.type', error instanceof Error ? error.name : 'Error')
        span.setStatus({
          code: errorStatus,
          message: typeof error === 'string' ? error : describeError(error),
        })
      }
      span.end()
    },
  }
}

function messaging(operation: string, type: string, eventType?: string): Record<string, string> {
  return {
    'messaging.system': 'sendoff',
    'messaging.operation.name': operation,
    'messaging.operation.type': type,
    ...(eventType !== undefined && { 'messaging.destination.name': eventType }),
  }
}

const nameOfParent = '"traceparent"'
/** How far the last character of a `traceparent` is behind its first one. */
const toFlags = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0'.length

/**
 * Returns the headers of an event, unless their trace is not recorded. Most events of a service that samples
 * are not. They must cost next to nothing: one character of the text says so, without parsing it.
 */
function recordedHeaders(headers: string): Readonly<Record<string, string>> | undefined {
  const end = headers.indexOf(nameOfParent)
  if (end === -1) return undefined
  const value = valueAfter(headers, end + nameOfParent.length)
  if (value !== undefined && !isOdd(headers.charCodeAt(value + toFlags))) return undefined
  try {
    return JSON.parse(headers) as Readonly<Record<string, string>>
  } catch {
    // The row becomes DEAD later, with a reason.
    return undefined
  }
}

/**
 * Returns where the text begins that is the value of a name which ends here. Writers in SQL may put white
 * space around the colon. Returns undefined if this is no name, but a value.
 */
function valueAfter(json: string, end: number): number | undefined {
  let at = end
  while (json.charCodeAt(at) <= space) at++
  if (json[at] !== ':') return undefined
  do at++
  while (json.charCodeAt(at) <= space)
  return json[at] === '"' ? at + 1 : undefined
}

const space = 0x20

// The codes of hexadecimal digits are odd where the digits are, except from a to f.
function isOdd(code: number): boolean {
  return (code & 1) === (code < 0x60 ? 1 : 0)
}

const recordedParent = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f][13579bdf]/

function isRecorded(traceparent: unknown): boolean {
  return typeof traceparent === 'string' && recordedParent.test(traceparent)
}

function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
}

// For a program without a propagator.
function spanContextOf(traceparent: string | undefined): SpanContext | undefined {
  const [, traceId, spanId, flags] = traceparent?.split('-') ?? []
  if (traceId === undefined || spanId === undefined) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags ?? '0', 16), isRemote: true }
}
