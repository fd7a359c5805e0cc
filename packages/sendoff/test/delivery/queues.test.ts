import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { BoundedQueue } from '../../src/delivery/bounded-queue.ts'
import { fairTurns } from '../../src/dispatch/fair-turns.ts'
import { WakeTimes } from '../../src/wake/wake-times.ts'

describe('a bounded queue', () => {
  it('is a queue, and never holds more than its capacity, places kept for later included', () => {
    const step = fc.constantFrom('offer', 'take', 'reserve', 'giveBack', 'takeAll')
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), fc.array(step, { maxLength: 500 }), (capacity, steps) => {
        const queue = new BoundedQueue<number>(capacity)
        const model: number[] = []
        let reserved = 0
        for (const [index, name] of steps.entries()) {
          const room = model.length + reserved < capacity
          if (name === 'offer') {
            equal(queue.offer(index), room)
            if (room) model.push(index)
          } else if (name === 'reserve') {
            equal(queue.reserve(), room)
            if (room) reserved++
          } else if (name === 'giveBack' && reserved > 0) {
            queue.giveBackReserved()
            reserved--
          } else if (name === 'takeAll') {
            deepEqual(queue.takeAll(), model.splice(0))
          } else if (name === 'take') {
            equal(queue.peek(), model[0])
            equal(queue.take(), model.shift())
          }
          equal(queue.length, model.length)
          equal(queue.room, capacity - model.length - reserved)
        }
      }),
    )
  })
})

describe('fair turns', () => {
  it('give the hot queue its share and the cold queue the rest', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 50 }), (hotShare, rounds) => {
        const turn = fairTurns(hotShare)
        const turns = Array.from({ length: rounds * (hotShare + 1) }, turn)
        equal(turns.filter((name) => name === 'cold').length, rounds)
        ok(!turns.join().includes('cold,cold'))
      }),
    )
    const turn = fairTurns(2)
    deepEqual([1, 2, 3, 4, 5, 6].map(turn), ['hot', 'hot', 'cold', 'hot', 'hot', 'cold'])
  })
})

describe('wake times', () => {
  it('know the next one, rounded up, and never more than a thousand', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 1_000_000 }), { maxLength: 2_000 }),
        fc.nat(500_000),
        (times, now) => {
          const wakeTimes = new WakeTimes()
          times.forEach((time) => wakeTimes.add(time))
          const rounded = [...new Set(times.map((time) => Math.ceil(time / 10) * 10))]
            .sort((a, b) => a - b)
            .slice(0, 1_000)
          equal(wakeTimes.next, rounded[0])
          equal(
            wakeTimes.passed(now),
            rounded.some((time) => time <= now),
          )
          equal(
            wakeTimes.next,
            rounded.find((time) => time > now),
          )
        },
      ),
    )
  })
})
