import { deepEqual, rejects } from 'node:assert/strict'
import { it } from 'node:test'
import { type StoppableDispatcher, SuspectTurns } from '../../src/dispatch/suspect-turns.ts'

/** A dispatcher that keeps what it was told. It cannot stop while `fails` is true. */
function dispatcher(): StoppableDispatcher & { readonly told: string[]; fails: boolean } {
  return {
    told: [],
    fails: false,
    async standStill() {
      this.told.push('stand still')
      if (this.fails) throw new Error('The connection was lost.')
    },
    goOn() {
      this.told.push('go on')
    },
  }
}

it('a turn that cannot begin lets all dispatchers continue, and the next turn begins', async () => {
  const turns = new SuspectTurns()
  const [own, lost, other] = [dispatcher(), dispatcher(), dispatcher()]
  for (const each of [own, lost, other]) turns.add(each)
  lost.fails = true
  await rejects(turns.begin(own), /The connection was lost/)
  deepEqual([own.told, lost.told, other.told], [[], ['stand still', 'go on'], ['stand still', 'go on']])

  lost.fails = false
  const end = await turns.begin(other)
  end()
  deepEqual([own.told, lost.told.length, other.told.length], [['stand still', 'go on'], 4, 2])
})

it('one turn at a time: the next waits for the end of the one before', async () => {
  const turns = new SuspectTurns()
  const [own, other] = [dispatcher(), dispatcher()]
  for (const each of [own, other]) turns.add(each)
  const end = await turns.begin(own)
  const next = turns.begin(other)
  deepEqual([own.told, other.told], [[], ['stand still']])
  end()
  ;(await next)()
  deepEqual(
    [own.told, other.told],
    [
      ['stand still', 'go on'],
      ['stand still', 'go on'],
    ],
  )
})
