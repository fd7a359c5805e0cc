import { deepEqual, equal, rejects } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type MigrationLock, underMigrationLock } from '../../../src/stores/sql/migration-lock.ts'
import { fakeClock } from '../../../src/testing/fake-clock.ts'

describe('the lock of online steps', () => {
  it('lets the second process work after the first, and not beside it', async () => {
    const { lock, clock, holder } = newLock()
    const first = Promise.withResolvers<void>()
    const seen: string[] = []
    const firstDone = underMigrationLock(
      lock,
      async () => {
        seen.push('first begins')
        await first.promise
        seen.push('first ends')
      },
      clock,
    )
    await clock.advance(0)
    const secondDone = underMigrationLock(lock, async () => void seen.push('second'), clock)
    await clock.advance(6_000)
    deepEqual(seen, ['first begins'])
    first.resolve()
    await clock.advance(100)

    deepEqual(seen, ['first begins', 'first ends', 'second'])
    deepEqual([await firstDone, await secondDone, holder()], [true, true, undefined])
  })

  it('is renewed while its process works, so that another one goes on without the rest', async () => {
    const { lock, clock } = newLock()
    const index = Promise.withResolvers<void>()
    const building = underMigrationLock(lock, () => index.promise, clock)
    await clock.advance(0)
    let isAsked = false
    const other = underMigrationLock(
      lock,
      async () => {
        isAsked = true
      },
      clock,
    )
    await clock.advance(60_000)
    equal(await other, false)
    equal(isAsked, false)
    index.resolve()
    equal(await building, true)
  })

  it('of a process that crashed runs out, and the next one does the work', async () => {
    const { lock, clock } = newLock()
    // A process that crashed does not renew it.
    await lock.take('crashed', 5_000)
    let hasRun = false
    const next = underMigrationLock(
      lock,
      async () => {
        hasRun = true
      },
      clock,
    )
    await clock.advance(4_900)
    equal(hasRun, false)
    await clock.advance(200)
    equal(await next, true)
    equal(hasRun, true)
  })

  it('is released after a step that failed, and a failed renewal is no fault', async () => {
    const { lock, clock, holder, failNext } = newLock()
    const step = Promise.withResolvers<void>()
    const failing = rejects(
      underMigrationLock(lock, () => step.promise, clock),
      /disk full/,
    )
    await clock.advance(0)
    failNext(2)
    await clock.advance(2_000)
    step.reject(new Error('disk full'))
    await failing
    equal(holder(), undefined)
  })
})

/** A lock row as stores keep it, and a clock that the test moves. */
function newLock() {
  const clock = fakeClock()
  let held: { token: string; until: number } | undefined
  let failures = 0
  const lock: MigrationLock = {
    async take(token, ms) {
      if (failures > 0) {
        failures -= 1
        throw new Error('away')
      }
      if (held !== undefined && held.token !== token && held.until > clock.now()) return false
      held = { token, until: clock.now() + ms }
      return true
    },
    async release(token) {
      if (held?.token === token) held = undefined
    },
  }
  return {
    lock,
    clock,
    holder: () => held?.token,
    failNext: (count: number) => {
      failures = count
    },
  }
}
