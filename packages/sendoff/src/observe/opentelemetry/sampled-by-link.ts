/** The part of an OpenTelemetry sampler that is used here. */
export interface OpenTelemetrySampler<Result = unknown> {
  shouldSample(
    context: never,
    traceId: string,
    spanName: string,
    spanKind: never,
    attributes: never,
    links: never,
  ): Result
  toString(): string
}

const recordAndSample = 2
const sampledFlag = 1

/**
 * Returns a sampler that records a trace if it begins with a link to a recorded one, and otherwise asks
 * `sampler`. With it, every delivery of a recorded request is recorded, although deliveries are traces of
 * their own: `new ParentBasedSampler({ root: sampledByLink(new TraceIdRatioBasedSampler(0.01)) })`.
 */
export function sampledByLink<Sampler extends OpenTelemetrySampler>(sampler: Sampler): Sampler {
  const byLink: OpenTelemetrySampler = {
    shouldSample(context, traceId, spanName, spanKind, attributes, links) {
      const linked = links as readonly { readonly context: { readonly traceFlags: number } }[] | undefined
      if (linked?.some((link) => (link.context.traceFlags & sampledFlag) === sampledFlag)) {
        return { decision: recordAndSample }
      }
      return sampler.shouldSample(context, traceId, spanName, spanKind, attributes, links)
    },
    toString: () => `SampledByLink{${String(sampler)}}`,
  }
  return byLink as Sampler
}
