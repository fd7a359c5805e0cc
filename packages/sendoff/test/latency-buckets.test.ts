import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LatencyBuckets } from '../src/latency-buckets.ts'

describe('latency buckets', () => {
  it('a percentile is exact to within a fifth, from a tenth of a millisecond to hours', () => {
    for (const ms of [0.11, 0.9, 1, 17, 250, 3_000, 86_000, 7_200_000]) {
      const buckets = new LatencyBuckets()
      buckets.add(ms)
      const bound = buckets.percentile(0.5)!
      ok(bound >= ms && bound <= ms * 1.2, `${ms} ms gave ${bound}`)
    }
  })

  it('buckets of several processes add up as if one process had counted everything', () => {
    const [whole, ...parts] = Array.from({ length: 4 }, () => new LatencyBuckets())
    for (let ms = 1; ms <= 300; ms += 1) {
      whole!.add(ms)
      parts[ms % 3]!.add(ms)
    }
    const merged = new LatencyBuckets()
    for (const part of parts) merged.merge(LatencyBuckets.parse(String(part)))

    equal(String(merged), String(whole))
    equal(merged.count, 300)
    ok(Math.abs(merged.percentile(0.95)! - 285) < 285 * 0.2)
  })

  it('text that was changed by hand is read as far as it can be', () => {
    equal(String(LatencyBuckets.parse('3:2 x:1 7 :5 900:1 -1:4 5:-2 9:NaN 3:1')), '3:3')
    equal(LatencyBuckets.parse(null).count, 0)
    equal(new LatencyBuckets().percentile(0.5), undefined)
  })

  it('nothing and forever have a bucket, too', () => {
    const buckets = new LatencyBuckets()
    for (const ms of [0, -1, 0.1, Infinity, 1e12]) buckets.add(ms)
    deepEqual(String(buckets), '0:3 120:2')
  })
})
