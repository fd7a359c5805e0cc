import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Delivery } from '../../src/delivery/delivery.ts'
import { LaneQueue } from '../../src/delivery/lane-queue.ts'

interface Item {
  readonly lane: string
  readonly number: number
}

function laneQueue(capacity: number, onEmptyLane = () => {}) {
  return new LaneQueue({
    capacity,
    laneOf: (delivery) => (delivery as unknown as Item).lane,
    partitionOf: (lane) => (lane === 'x' ? 1 : 2),
    onEmptyLane,
  })
}

function item(lane: string, number = 0): Delivery & Item {
  return { lane, number } as unknown as Delivery & Item
}

describe('a queue of lanes', () => {
  it('hands out one of each lane at a time, in order, and loses none, whatever is done with it', () => {
    const step = fc.record({
      name: fc.constantFrom('offer', 'offer', 'take', 'take', 'done', 'failed', 'takeAll'),
      lane: fc.constantFrom('x', 'y', 'z'),
    })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.array(step, { maxLength: 300 }), (capacity, steps) => {
        const queue = laneQueue(capacity)
        const waiting = new Map<string, Item[]>(['x', 'y', 'z'].map((lane) => [lane, []]))
        const running = new Map<string, Delivery & Item>()
        let number = 0
        for (const { name, lane } of steps) {
          const length = [...waiting.values()].flat().length
          if (name === 'offer') {
            const next = item(lane, number++)
            equal(queue.offer(next), length < capacity)
            if (length < capacity) waiting.get(lane)!.push(next)
          } else if (name === 'take') {
            const shown = queue.peek()
            const taken = queue.take() as (Delivery & Item) | undefined
            equal(shown, taken)
            const free = [...waiting].filter(([key, items]) => items.length > 0 && !running.has(key))
            equal(taken === undefined, free.length === 0)
            if (taken === undefined) continue
            equal(taken, waiting.get(taken.lane)!.shift())
            ok(!running.has(taken.lane))
            running.set(taken.lane, taken)
          } else if (name === 'takeAll') {
            const all = [...waiting.values()].flat()
            deepEqual(new Set(queue.takeAll() as unknown as Item[]), new Set(all))
            waiting.forEach((items) => items.splice(0))
          } else {
            const ended = running.get(lane)
            if (ended === undefined) continue
            running.delete(lane)
            const dropped = queue.endTurn(ended, name === 'done')
            deepEqual(dropped, name === 'done' ? [] : waiting.get(lane)!.splice(0))
          }
          equal(queue.length, [...waiting.values()].flat().length)
          const known = [...waiting].filter(([key, items]) => items.length > 0 || running.has(key))
          deepEqual([...queue.keys].sort(), known.map(([key]) => key).sort())
        }
      }),
    )
  })

  it('lets lanes take turns, however long one is', () => {
    const queue = laneQueue(100)
    for (let number = 0; number < 50; number++) queue.offer(item('long', number))
    queue.offer(item('short'))
    const order: string[] = []
    for (let turn = 0; turn < 4; turn++) {
      const taken = queue.take() as (Delivery & Item) | undefined
      if (taken === undefined) break
      order.push(taken.lane)
      queue.endTurn(taken, true)
    }
    deepEqual(order, ['long', 'short', 'long', 'long'])
  })

  it('gives a batch what follows in its lane first, and then what other lanes have', () => {
    const queue = laneQueue(100)
    const [x0, x1, x2, y0] = [item('x', 0), item('x', 1), item('x', 2), item('y', 0)]
    ;[x0, y0, x1, x2].forEach((each) => queue.offer(each))
    equal(queue.take(), x0)
    equal(queue.peek(), y0)
    equal(queue.peek(x0), x1)
    equal(queue.take(x0), x1)
    equal(queue.take(x1), x2)
    equal(queue.take(x2), y0)
    equal(queue.take(y0), undefined)

    queue.endTurn(x0, true)
    queue.offer(item('x', 3))
    equal(queue.take(), undefined, 'two of the batch are under way')
    queue.endTurn(x1, true)
    queue.endTurn(x2, true)
    equal((queue.take() as unknown as Item).number, 3)
  })

  it('starts nothing of a lane after a failure in a batch of it', () => {
    const queue = laneQueue(100)
    const [x0, x1, x2] = [item('x', 0), item('x', 1), item('x', 2)]
    ;[x0, x1, x2].forEach((each) => queue.offer(each))
    queue.take()
    queue.take(x0)
    deepEqual(queue.endTurn(x0, false), [x2])
    ok(queue.has('x'), 'one is still under way')
    queue.endTurn(x1, true)
    ok(!queue.has('x'))
  })

  it('tells of lanes that have run empty while the store has more, and keeps them until it is told that nothing comes', () => {
    let told = 0
    const queue = laneQueue(100, () => told++)
    const [first, second] = [item('x', 0), item('x', 1)]
    queue.offer(first)
    queue.expectMore('x', true)
    queue.take()
    deepEqual(queue.emptyLanes(10), [])
    queue.endTurn(first, true)
    deepEqual([told, queue.emptyLanes(10)], [1, ['x']])

    queue.offer(second)
    deepEqual(queue.emptyLanes(10), [])
    queue.take()
    queue.expectMore('x', false)
    queue.endTurn(second, true)
    deepEqual([told, queue.emptyLanes(10), queue.has('x')], [1, [], false])

    queue.expectMore('y', true)
    deepEqual([told, queue.emptyLanes(10), queue.has('y')], [2, ['y'], true])
    queue.expectMore('y', false)
    equal(queue.has('y'), false)
  })

  it('asks once more for a lane that a look has passed over, and not for one that was given up', () => {
    const queue = laneQueue(100)
    const [x0, y0] = [item('x', 0), item('y', 0)]
    ;[x0, y0].forEach((each) => queue.offer(each))
    queue.scanBegins()
    queue.take()
    queue.take()
    queue.endTurn(x0, true)
    queue.endTurn(y0, false)
    deepEqual([queue.emptyLanes(10), queue.has('y')], [['x'], false])
    queue.expectMore('x', false)
    equal(queue.has('x'), false)
  })

  it('forgets lanes that are given away, those under way when they have ended', () => {
    const queue = laneQueue(100)
    const [x0, x1, y0] = [item('x', 0), item('x', 1), item('y', 0)]
    ;[x0, x1, y0].forEach((each) => queue.offer(each))
    queue.expectMore('x', true)
    queue.take()
    deepEqual(queue.takePartition(1), [x1])
    ok(queue.has('x'))
    deepEqual(queue.endTurn(x0, true), [])
    deepEqual([...queue.keys], ['y'])
    deepEqual([queue.hasPartition(1), queue.hasPartition(2)], [false, true])
  })
})
