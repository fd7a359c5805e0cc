import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { boundsAround, inDueOrder, nextPlace, placeBehind } from '../../src/store/index.ts'

const place = (availableAt: number, seq: number) => ({ availableAt, seq })

describe('due order', () => {
  it('goes by due time, then by number', () => {
    const places = [place(2, 1), place(1, 3), place(1, 2)]
    deepEqual(places.toSorted(inDueOrder), [place(1, 2), place(1, 3), place(2, 1)])
    deepEqual(placeBehind(place(1, 2)), place(1, 3))
  })

  it('a claim of types goes on behind its last row, its window, or not at all', () => {
    const rows = [place(1, 1), place(1, 4)]
    deepEqual(nextPlace(rows, 2, place(1, 9)), place(1, 5))
    deepEqual(nextPlace(rows, 3, place(1, 9)), place(1, 10))
    equal(nextPlace(rows, 3, undefined), undefined)
    equal(nextPlace([], 0, undefined), undefined)
  })

  it('bounds reach around what is held and what was read', () => {
    const held = { low: place(2, 1), high: place(3, 2) }
    equal(boundsAround(null, []), null)
    deepEqual(boundsAround(held, []), held)
    deepEqual(boundsAround(held, [place(1, 7), place(4, 3)]), { low: place(1, 7), high: place(4, 3) })
    deepEqual(boundsAround(null, [place(5, 5)]), { low: place(5, 5), high: place(5, 5) })
  })
})
