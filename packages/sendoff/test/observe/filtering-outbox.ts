import type { MetricsExporter } from '../../src/observe/metrics.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'

/** An outbox whose rule has filtered two of three events. */
export async function filteringOutbox(metrics: MetricsExporter) {
  const outbox = await Outbox.multiNode({
    store: memoryStore(),
    metrics,
    logger: false,
    routing: {
      version: 1,
      rules: [{ to: 'kafka', when: ({ payload }) => (payload as number) > 2 }],
      destinations: { kafka: {} },
    },
  }).start()
  outbox.on('Tested', () => {}, { destination: 'kafka' })
  for (const payload of [1, 2, 3]) await outbox.transaction(() => outbox.write('Tested', payload))
  await outbox.drain()
  return outbox
}
