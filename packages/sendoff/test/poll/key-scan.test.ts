import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { KeyScan } from '../../src/poll/key-scan.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'

const place = { availableAt: 1_000, seq: 7 }

describe('a plan of looks', () => {
  it('goes from the beginning to the end of what is due, and then nowhere', () => {
    const looks = new KeyScan(fakeClock())
    equal(looks.from, 'nowhere')
    equal(looks.begin(), undefined)
    equal(looks.from, 'start')
    looks.cameTo(place, 0)
    deepEqual(looks.from, place)
    looks.cameTo(undefined, 0)
    equal(looks.from, 'nowhere')
    equal(looks.isWantedAgain, false)
  })

  it('wants another look where something has happened during one, once it is over', () => {
    const looks = new KeyScan(fakeClock())
    looks.begin()
    looks.cameTo(place, 0)
    looks.begin()
    deepEqual([looks.from, looks.isWantedAgain], [place, false])
    looks.cameTo(undefined, 0)
    equal(looks.isWantedAgain, true)
    looks.begin()
    deepEqual([looks.from, looks.isWantedAgain], ['start', false])
  })

  it('begins where the last look ended for twenty times as long as a look in vain took', async () => {
    const clock = fakeClock()
    const looks = new KeyScan(clock)
    looks.begin()
    looks.cameTo(place, 10)
    looks.cameTo(undefined, 10)
    equal(looks.begin(), 400)
    deepEqual(looks.from, place)
    looks.cameTo(undefined, 0)

    await clock.advance(400)
    equal(looks.begin(), undefined)
    equal(looks.from, 'start')
  })

  it('pauses no longer than allowed, even if an answer was late', () => {
    const looks = new KeyScan(fakeClock(), 5_000)
    looks.begin()
    looks.cameTo(place, 0)
    looks.cameTo(undefined, 26_000)
    equal(looks.begin(), 5_000)
  })

  it('begins at the start at once when it is told to start over', () => {
    const looks = new KeyScan(fakeClock())
    looks.begin()
    looks.cameTo(place, 1_000)
    looks.cameTo(undefined, 0)
    looks.startOver()
    equal(looks.begin(), undefined)
    equal(looks.from, 'start')
  })
})
