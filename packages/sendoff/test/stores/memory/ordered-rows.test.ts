import { deepEqual } from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { inDueOrder } from '../../../src/store/due-order.ts'
import type { MemoryRow } from '../../../src/stores/memory/memory-row.ts'
import { newMemoryRow } from '../../../src/stores/memory/memory-row.ts'
import { OrderedRows } from '../../../src/stores/memory/ordered-rows.ts'
import { sampleRow } from '../../../src/testing/store-checks/sample-rows.ts'

describe('ordered rows', () => {
  it('are in order whatever was added and removed before, from any place', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 2_000, size: 'max' }),
        fc.integer({ min: 2, max: 7 }),
        fc.integer({ min: 0, max: 50 }),
        (times, removeEvery, fromTime) => {
          const ordered = new OrderedRows((row) => row.availableAt)
          const rows = times.map((time, index) => rowDueAt(time, index + 1))
          const kept = new Set<MemoryRow>()
          for (const [index, row] of rows.entries()) {
            ordered.add(row)
            kept.add(row)
            const old = rows[index >> 1]!
            if (index % removeEvery === 0 && kept.delete(old)) ordered.delete(old)
          }

          const expected = [...kept].sort(inDueOrder)
          deepEqual(seqsOf(ordered.from(-Infinity, 0)), seqsOf(expected))
          const place = { availableAt: fromTime, seq: 100 }
          deepEqual(
            seqsOf(ordered.from(place.availableAt, place.seq)),
            seqsOf(expected.filter((row) => inDueOrder(row, place) >= 0)),
          )
        },
      ),
      { numRuns: 50 },
    )
  })
})

function rowDueAt(at: number, seq: number): MemoryRow {
  return newMemoryRow(sampleRow({ due: { at } }), seq, { owner: 'test', ms: 1 }, 0)
}

function seqsOf(rows: Iterable<MemoryRow>): number[] {
  return Array.from(rows, (row) => row.seq)
}
