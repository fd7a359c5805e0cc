import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fairTurns } from '../../src/dispatch/fair-turns.ts'
import { Gate } from '../fixtures/gate.ts'
import { onEveryStore, startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'

describe('fair turns', () => {
  for (const [share, expected] of [
    [1, 'hot cold hot cold hot cold'],
    [2, 'hot hot cold hot hot cold'],
    [5, 'hot hot hot hot hot cold'],
  ] as const) {
    it(`are ${share} for the hot queue and then one for the cold queue`, () => {
      deepEqual(Array.from({ length: 6 }, fairTurns(share)).join(' '), expected)
    })
  }
})

onEveryStore(
  'while both queues have work, one event in three comes from the cold one',
  async (test, open, mode) => {
    const gate = new Gate()
    const listener = new RecordingListener(() => gate.passed)
    const { outbox, metrics } = await startOutbox(test, open(), {
      mode,
      listener,
      workerCount: 1,
      hotQueueCapacity: 6,
    })
    await writeTested(outbox, 'first')
    await listener.called(1)
    await writeTested(outbox, ...'hhhhhhccc')
    await metrics.until((seen) => seen.coldEnqueued === 3)
    gate.open()

    await metrics.until((seen) => seen.dispatchSuccess === 10)
    const order = listener.payloads.slice(1).join('')
    for (let start = 0; start <= 6; start++) {
      const turns = order.slice(start, start + 3)
      equal([...turns].filter((queue) => queue === 'c').length, 1, `${turns} in ${order}`)
    }
  },
)
