import { deepEqual } from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { atFullScale, benchLines, subjectsOf } from './run-bench.ts'
import { temporaryFolder } from '../services/machine/temporary-folder.ts'

describe('the benchmark of relays', () => {
  const folder = temporaryFolder('bench-test')
  after(() => folder.remove())

  it('measures every broker and its client alone', atFullScale, async () => {
    const lines = await benchLines({ store: 'postgres', folder: folder.path }, 'relay', '--events', '300')
    const brokers = ['kafka', 'rabbitmq', 'nats']
    deepEqual(subjectsOf(lines, 'eventsPerSecond'), [
      ...brokers.flatMap((broker) => [`sendoff-${broker}`, `limit-${broker}`]),
      'limit-claim-update',
    ])
  })
})
