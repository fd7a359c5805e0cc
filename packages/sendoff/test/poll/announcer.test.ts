import { deepEqual } from 'node:assert/strict'
import { it } from 'node:test'
import { systemClock } from '../../src/clock.ts'
import { silentLogger } from '../../src/observe/logger.ts'
import { Announcer } from '../../src/poll/announcer.ts'

/** An announcer, and what it has told others about. */
function recorded() {
  const told: (readonly number[] | undefined)[] = []
  let wake = () => {}
  const announcer = new Announcer({
    wakeUps: {
      listen: () => Promise.resolve(() => Promise.resolve()),
      async announce(partitions) {
        told.push(partitions)
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

it('what is announced during a signal is told by the next one, each partition once', async () => {
  const { announcer, told, until } = recorded()
  announcer.announce([1])
  announcer.announce([2, 3])
  announcer.announce([3, 4])
  await until(2)
  deepEqual(told, [[1], [2, 3, 4]])
})

it('what may be anywhere is not narrowed down by what is not', async () => {
  const { announcer, told, until } = recorded()
  announcer.announce([1])
  announcer.announce([2])
  announcer.announce()
  announcer.announce([3])
  await until(2)
  deepEqual(told, [[1], undefined])
})
