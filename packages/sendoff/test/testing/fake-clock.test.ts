import { deepEqual, equal, rejects, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fakeClock } from '../../src/testing/index.ts'

describe('a fake clock', () => {
  it('stands still until it is moved', async () => {
    const clock = fakeClock({ now: new Date('2030-01-01T00:00:00Z') })
    equal(clock.now(), Date.UTC(2030, 0, 1))
    equal(clock.monotonic(), 0)

    await clock.advance(3_600_000)
    equal(clock.now(), Date.UTC(2030, 0, 1, 1))
    equal(clock.monotonic(), 3_600_000)
  })

  it('starts at the real time by default', () => {
    const before = Date.now()
    const { now } = fakeClock()
    equal(before <= now() && now() <= Date.now(), true)
  })

  it('calls back in the order of time, each at its own time', async () => {
    const clock = fakeClock({ now: 1_000 })
    const calls: string[] = []
    const record = (name: string) => () => void calls.push(`${name} at ${clock.now()}`)
    clock.schedule(30, record('third'))
    clock.schedule(10, record('first'))
    clock.schedule(10, record('second'))
    clock.schedule(31, record('too late'))

    await clock.advance(30)
    deepEqual(calls, ['first at 1010', 'second at 1010', 'third at 1030'])
  })

  it('runs timers that callbacks schedule, also after awaits and immediates, when they fall due on the way', async () => {
    const clock = fakeClock({ now: 0 })
    const calls: number[] = []
    const tick = async () => {
      calls.push(clock.now())
      await Promise.resolve()
      await new Promise((resolve) => setImmediate(resolve))
      clock.schedule(25, () => void tick())
    }
    clock.schedule(25, () => void tick())

    await clock.advance(100)
    deepEqual(calls, [25, 50, 75, 100])
  })

  it('does not run a cancelled timer, even if it was cancelled on the way', async () => {
    const clock = fakeClock()
    const calls: string[] = []
    const cancel = clock.schedule(20, () => void calls.push('cancelled'))
    clock.schedule(10, cancel)
    clock.schedule(30, () => void calls.push('kept'))

    await clock.advance(50)
    deepEqual(calls, ['kept'])
  })

  it('moves once for each call when several are made at once', async () => {
    const clock = fakeClock({ now: 0 })
    const calls: number[] = []
    clock.schedule(15, () => void calls.push(clock.now()))

    await Promise.all([clock.advance(10), clock.advance(10)])
    equal(clock.now(), 20)
    deepEqual(calls, [15])
  })

  it('continues after a callback that throws', async () => {
    const clock = fakeClock({ now: 0 })
    clock.schedule(5, () => {
      throw new Error('broken callback')
    })
    await rejects(clock.advance(10), /broken callback/)
    await clock.advance(5)
    equal(clock.now(), 10)
  })

  it('refuses to go back, and an invalid time', async () => {
    await rejects(fakeClock().advance(-1), /must be a number of milliseconds, 0 or more, not -1/)
    await rejects(fakeClock().advance(Number.NaN), /not NaN/)
    throws(() => fakeClock({ now: new Date('no date') }), { code: 'OUTBOX_INVALID_OPTION' })
  })
})
