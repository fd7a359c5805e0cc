import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FailurePause } from '../../src/process/failure-pause.ts'
import type { Outcome } from '../../src/store/index.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'

const done: Outcome = { kind: 'done' }
const failed: Outcome = { kind: 'retry', delayMs: 1, failure: { error: 'no', counted: true } }
const dead: Outcome = { kind: 'dead', failure: { error: 'never', counted: true } }

function pauseAfter(...outcomes: readonly (readonly [count: number, outcome: Outcome])[]) {
  const clock = fakeClock()
  const pause = new FailurePause({ clock, pauseMs: 500 })
  const endAll = (count: number, outcome: Outcome) => {
    for (let n = 0; n < count; n++) pause.ended(outcome)
  }
  for (const [count, outcome] of outcomes) endAll(count, outcome)
  const calls: number[] = []
  return { clock, pause, endAll, calls, isOver: () => pause.isOver(() => calls.push(clock.monotonic())) }
}

describe('the pause after failures', () => {
  it('begins with a hundred in a row, and calls back once when it is over', async () => {
    const { clock, endAll, calls, isOver } = pauseAfter([99, failed])
    equal(isOver(), true)
    endAll(1, failed)
    const endsAt = clock.monotonic() + 500
    deepEqual([isOver(), isOver()], [false, false])
    await clock.advance(499)
    deepEqual(calls, [])
    await clock.advance(1)
    deepEqual(calls, [endsAt])
    equal(isOver(), true)
  })

  it('needs as many again after it', async () => {
    const { clock, endAll, isOver } = pauseAfter([100, failed])
    await clock.advance(500)
    endAll(99, failed)
    equal(isOver(), true)
    endAll(1, failed)
    equal(isOver(), false)
  })

  it('does not begin where something succeeds in between, and ends when something does', () => {
    equal(pauseAfter([99, failed], [1, done], [99, failed]).isOver(), true)
    equal(pauseAfter([100, failed], [1, done]).isOver(), true)
  })

  it('is not for events that nobody will ever take', () => {
    equal(pauseAfter([500, dead]).isOver(), true)
  })
})
