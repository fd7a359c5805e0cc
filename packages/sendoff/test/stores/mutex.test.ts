import { deepEqual, equal, rejects } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Mutex } from '../../src/stores/mutex.ts'

describe('mutex', () => {
  it('nobody overtakes the queue, whenever they come', async () => {
    const mutex = new Mutex()
    const order: string[] = []
    let running = 0
    const enter = (name: string) =>
      mutex.run(async () => {
        running += 1
        equal(running, 1)
        order.push(name)
        await Promise.resolve()
        running -= 1
      })

    const queued = [enter('first'), enter('second')]
    // One newcomer in every turn of the microtask queue while the lock changes hands.
    for (let turn = 0; turn < 10; turn += 1) {
      queued.push(enter(`newcomer ${turn}`))
      await Promise.resolve()
    }
    await Promise.all(queued)

    deepEqual(order, ['first', 'second', ...Array.from({ length: 10 }, (_, turn) => `newcomer ${turn}`)])
  })

  it('work that fails lets the next one in', async () => {
    const mutex = new Mutex()
    const failed = mutex.run(() => {
      throw new Error('no')
    })
    const next = mutex.run(() => 'in')

    await rejects(failed, { message: 'no' })
    equal(await next, 'in')
  })

  it('thousands can wait, and are served in their order', async () => {
    const mutex = new Mutex()
    const served: number[] = []
    const expected = Array.from({ length: 5_000 }, (_, index) => index)
    await Promise.all(expected.map((index) => mutex.run(() => void served.push(index))))

    deepEqual(served, expected)
  })
})
