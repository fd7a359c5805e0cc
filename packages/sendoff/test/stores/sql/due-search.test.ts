import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { partitionCount } from '../../../src/store/partition-of.ts'
import type { LaneRequest } from '../../../src/store/index.ts'
import { type DueRow, DueSearch } from '../../../src/stores/sql/due-search.ts'

const all = Array.from({ length: partitionCount }, (_, partition) => partition)

describe('a search for keys among due rows', () => {
  it('finds rows of the wanted partitions that are not excepted, with and without a key', () => {
    const rows = [keyed(1, 'a', 7), keyed(2, 'b', 8), keyless(7), keyless(8), keyed(9, 'c', 7), keyless(263)]
    const { seqs } = searched(rows, { partitions: [7], except: ['c', 'id-263'] })

    deepEqual(seqs, [1, 7])
  })

  it('ends at the last row that is wanted, and goes on from there', () => {
    const { seqs, next, looked } = searched(keylessRows(3_000), { limit: 700, window: 2_000 })

    equal(seqs.length, 700)
    deepEqual(next, { availableAt: 7_000, seq: 700 })
    equal(looked, 1_000)
  })

  it('ends with the window, and goes on from there', () => {
    const { seqs, next, looked } = searched(keylessRows(3_000), { partitions: [1], window: 1_200 })

    equal(seqs.length, 5)
    deepEqual(next, { availableAt: 12_000, seq: 1_200 })
    equal(looked, 1_200)
  })

  it('ends with the rows, and then there is nothing to go on from', () => {
    for (const count of [0, 1, 500, 501, 1_000]) {
      const { seqs, next } = searched(keylessRows(count), { window: 2_000, limit: 2_000 })
      deepEqual([seqs.length, next], [count, undefined])
    }
  })

  it('begins at the place that it is told', () => {
    const { seqs } = searched(keylessRows(10), { from: { availableAt: 80, seq: 8 } })

    deepEqual(seqs, [8, 9, 10])
  })

  it('looks at nothing where nothing is wanted', () => {
    for (const request of [{ limit: 0 }, { partitions: [] }, { window: 0 }]) {
      const { looked, next } = searched(keylessRows(10), request)
      deepEqual([looked, next], [0, undefined])
    }
  })
})

/** Lets a search look at rows in due order, as a store does. */
function searched(rows: readonly DueRow[], request: Partial<LaneRequest>) {
  const search = new DueSearch({
    owner: { lock: 'lock', token: 'a' },
    partitions: all,
    keys: [],
    except: [],
    window: 10_000,
    limit: 10_000,
    perKey: 10,
    ...request,
  })
  let looked = 0
  while (search.pageSize > 0) {
    const { from, pageSize } = search
    const page = rows.filter(({ seq }) => seq >= (from?.seq ?? 0)).slice(0, pageSize)
    looked += page.length
    search.look(page)
  }
  return { seqs: search.found.map(({ seq }) => seq), next: search.next, looked }
}

function keyed(seq: number, orderingKey: string, partitionNo: number): DueRow {
  return { seq, availableAt: seq * 10, eventId: `id-${seq}`, orderingKey, partitionNo, destination: '' }
}

function keyless(seq: number): DueRow {
  return {
    seq,
    availableAt: seq * 10,
    eventId: `id-${seq}`,
    orderingKey: null,
    partitionNo: null,
    destination: '',
  }
}

function keylessRows(count: number): DueRow[] {
  return Array.from({ length: count }, (_, index) => keyless(index + 1))
}
