import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { MinuteStatistics } from '../../src/store/index.ts'
import { upkeepOf } from '../../src/store-calls/upkeep-of.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'

const minuteMs = 60_000
const weekMs = 7 * 24 * 60 * minuteMs

describe('the upkeep of a store', () => {
  it('keeps the statistics of each minute for 7 days, and deletes all older ones in batches', async () => {
    const now = 1_000_000 * minuteMs
    const { reports } = memoryStore({ now: () => now })
    const old = Array.from({ length: 2_500 }, (_, index) =>
      statisticsOf(now - weekMs - (index + 1) * minuteMs),
    )
    const kept = [now - weekMs + minuteMs, now]
    const statistics = [...old, ...kept.map(statisticsOf)]
    await reports.report({ id: 'p1', report: {} as never, statistics })
    const limits: number[] = []
    await upkeepOf(undefined, {
      ...reports,
      forgetStatistics(request) {
        limits.push(request.limit)
        return reports.forgetStatistics(request)
      },
    })!()

    const left = await reports.statistics({ lastMs: 2 * weekMs, limit: 10_000 })
    deepEqual(left.map(({ minute }) => minute).sort(), kept)
    deepEqual(limits, [1_000, 1_000, 1_000])
  })

  it('returns what the store warns of, although old statistics cannot be deleted', async () => {
    const { reports } = memoryStore()
    const upkeep = upkeepOf(async () => ['The table grows.'], {
      ...reports,
      forgetStatistics: () => Promise.reject(new Error('no right to delete')),
    })

    deepEqual(await upkeep!(), ['The table grows.'])
  })

  it('is none where there is nothing to do', () => {
    equal(upkeepOf(undefined, undefined), undefined)
  })
})

function statisticsOf(minute: number): Omit<MinuteStatistics, 'node'> {
  const counts = { done: 1, failed: 0, dead: 0, deferred: 0, hot: 1, listenerMs: 0 }
  return { minute, eventType: 'Placed', destination: '', ...counts, listenerBuckets: '', deliveryBuckets: '' }
}
