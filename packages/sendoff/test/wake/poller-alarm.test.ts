import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PollerAlarm } from '../../src/wake/poller-alarm.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'

describe('the alarm of a poller', () => {
  it('distinguishes room from due rows, and reports each once', () => {
    const alarm = new PollerAlarm()
    alarm.resume()
    deepEqual([alarm.isSet, alarm.takeReason(), alarm.takeNews()], [true, 'room', false])

    alarm.resume()
    alarm.wake()
    deepEqual([alarm.isSet, alarm.takeReason(), alarm.takeNews()], [true, 'due', true])
    deepEqual([alarm.isSet, alarm.takeNews()], [false, false])
  })

  it('is set again when a known moment has come', async () => {
    const clock = fakeClock()
    const alarm = new PollerAlarm({ clock })
    alarm.wake(100)
    deepEqual([alarm.isSet, alarm.nextTime, alarm.takeNews()], [false, clock.monotonic() + 100, false])

    await clock.advance(100)
    deepEqual([alarm.takeNews(), alarm.isSet, alarm.nextTime], [true, true, undefined])
  })

  it('does not ring for partitions of other processes', () => {
    const alarm = new PollerAlarm()
    let rings = 0
    alarm.onRing(() => rings++)
    alarm.wake(0, [1])
    alarm.limitTo({ ownsOneOf: (partitions) => partitions.includes(2) })
    alarm.wake(0, [1])
    alarm.wake(50, [1])
    equal(rings, 1)
    alarm.wake(0, [1, 2])
    alarm.wake()
    equal(rings, 3)
  })
})
