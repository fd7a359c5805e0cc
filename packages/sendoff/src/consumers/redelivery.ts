import { describeError } from '../describe-error.ts'
import type { ConsumerOptions } from './consumer-options.ts'
import type { MessageRuns } from './message-runs.ts'

/** How long a source, such as `topic "orders"`, may deliver a message again. */
export interface Redelivery {
  readonly source: string
  readonly redeliveryMs: number
}

/**
 * Tells the inbox how long its messages may come again: what the option `redeliveryMs` says of all sources,
 * or what `learn` finds out from the broker. The inbox warns if it forgets messages sooner. Never rejects.
 */
export async function expectRedelivery<Tx>(
  runs: MessageRuns,
  { inbox, handler, redeliveryMs }: ConsumerOptions<Tx>,
  sources: readonly string[],
  learn: () => Promise<readonly Redelivery[]> = () => Promise.resolve([]),
): Promise<void> {
  // A message that is both marked and accepted is known by its mark.
  const by = handler === undefined ? 'accept' : 'process'
  try {
    const expected =
      redeliveryMs === undefined ? await learn() : sources.map((source) => ({ source, redeliveryMs }))
    for (const each of expected) inbox.expectRedelivery?.(each.source, each.redeliveryMs, by)
  } catch (error) {
    if (runs.closing.aborted) return
    runs.logger.warn(
      `${runs.name}: the consumer cannot find out how long ${sources.join(', ')} may deliver a message again, so nothing ` +
        `checks whether the inbox remembers messages for that long. Give the option redeliveryMs. ${describeError(error)}`,
    )
  }
}
