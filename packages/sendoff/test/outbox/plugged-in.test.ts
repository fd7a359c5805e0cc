import { deepEqual, match } from 'node:assert/strict'
import { InMemoryMetrics } from '../../src/observe/metrics.ts'
import { onEveryStore, startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'

onEveryStore('a logger and a metrics exporter that throw do no harm', async (test, open, mode) => {
  const fail = () => {
    throw new Error('plugged in badly')
  }
  const metrics = new Proxy(new InMemoryMetrics(), { get: () => fail })
  const log: string[] = []
  const first = await startOutbox(test, open(), {
    mode,
    metrics,
    logger: { debug: fail, info: fail, warn: fail, error: fail },
  })
  await writeTested(first.outbox, 1)
  await first.outbox.drain()
  await first.outbox.close()

  const logger = { debug() {}, info() {}, warn() {}, error: (line: string) => void log.push(line) }
  const second = await startOutbox(test, open(), { mode, metrics, logger })
  await writeTested(second.outbox, 2)
  await second.outbox.drain()
  deepEqual([...first.listener.payloads, ...second.listener.payloads], [1, 2])
  match(log.join('\n'), /The metrics exporter failed\. Error: plugged in badly/)
})
