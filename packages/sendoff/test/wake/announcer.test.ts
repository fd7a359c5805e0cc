import { deepEqual, equal } from 'node:assert/strict'
import { it } from 'node:test'
import { systemClock } from '../../src/clock.ts'
import { silentLogger } from '../../src/observe/logger.ts'
import { Announcer } from '../../src/wake/announcer.ts'
import type { WakeUp } from '../../src/store/index.ts'
import { Gate } from '../fixtures/gate.ts'
import { textOfWakeUp, wakeUpIn } from '../../src/stores/wake-up-text.ts'

/** An announcer, and the wake-ups that it has sent. */
function recorded() {
  const told: WakeUp[] = []
  let wake = () => {}
  const announcer = new Announcer({
    wakeUps: {
      listen: () => Promise.resolve(() => Promise.resolve()),
      async announce(wakeUp = {}) {
        told.push(wakeUp)
        wake()
      },
    },
    clock: systemClock,
    logger: silentLogger,
  })
  const until = async (count: number) => {
    while (told.length < count) await new Promise<void>((resolve) => (wake = resolve))
  }
  return { announcer, told, until }
}

it('the next signal has all partitions announced during the last one, each once', async () => {
  const { announcer, told, until } = recorded()
  announcer.announce([1])
  announcer.announce([2, 3])
  announcer.announce([3, 4])
  await until(2)
  deepEqual(told, [{ partitions: [1] }, { partitions: [2, 3, 4] }])
})

it('a signal for any partition is not narrowed by one for some', async () => {
  const { announcer, told, until } = recorded()
  announcer.announce([1])
  announcer.announce([2])
  announcer.announce()
  announcer.announce([3])
  await until(2)
  deepEqual(told, [{ partitions: [1] }, {}])
})

it('a signal for later events has their moments, each once', async () => {
  const { announcer, told, until } = recorded()
  announcer.announce([1])
  announcer.announce([2], 5_000)
  announcer.announce([3], 5_000)
  announcer.announce([3], 60_000)
  announcer.announceControls()
  await until(2)
  const { partitions, inMs = [], controls } = told[1]!
  deepEqual({ partitions, controls, now: inMs[0] }, { partitions: undefined, controls: true, now: 0 })
  equal(inMs.length >= 3 && inMs.length <= 4, true)
  equal(
    inMs.slice(1).every((ms) => (ms > 4_000 && ms <= 5_020) || (ms > 59_000 && ms <= 60_020)),
    true,
  )
})

it('a signal that waits for a connection is late after a while, and one transaction at a time carries it', async () => {
  let now = 0
  const sent = new Gate()
  const announcer = new Announcer({
    wakeUps: { listen: () => Promise.resolve(() => Promise.resolve()), announce: () => sent.passed },
    clock: { ...systemClock, monotonic: () => now },
    logger: silentLogger,
  })
  equal(announcer.takeLateSignal(), false, 'there is none')
  announcer.announce([1])
  now = 5
  equal(announcer.takeLateSignal(), false, 'it may still come in time')
  now = 10
  equal(announcer.takeLateSignal(), true)
  announcer.announce([2])
  equal(announcer.takeLateSignal(), false, 'a transaction carries it')
  now = 20
  equal(announcer.takeLateSignal(), true, 'that transaction may have been rolled back')
  sent.open()
  await sent.passed
  await new Promise((resolve) => setImmediate(resolve))
  now = 30
  equal(announcer.takeLateSignal(), true, 'the second one waits behind the first')
})

it('a signal can be written as text and read back, and unknown text means any partition', () => {
  const signals: WakeUp[] = [
    {},
    { partitions: [0, 255] },
    { inMs: [1, 20] },
    { partitions: [7], inMs: [0, 5] },
    { controls: true },
  ]
  deepEqual(
    signals.map((wakeUp) => wakeUpIn(textOfWakeUp(wakeUp))),
    signals,
  )
  deepEqual(['of another version', '1,', '@', '-1'].map(wakeUpIn), [{}, {}, {}, {}])
})
