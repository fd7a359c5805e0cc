import { deepEqual } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { StoredRow } from 'sendoff/admin'
import { FollowedEvents } from '../../src/commands/followed-events.ts'

/** A table whose newest rows are read page by page. */
class Table {
  readonly rows: StoredRow[] = []

  write(...ids: readonly string[]): void {
    for (const eventId of ids) {
      this.rows.push({
        eventId,
        destination: '',
        seq: this.rows.length,
        status: 0,
        attempts: 0,
        blockedAt: null,
      } as StoredRow)
    }
  }

  settle(eventId: string, status: 1 | 2 | 3): void {
    const index = this.rows.findIndex((row) => row.eventId === eventId)
    this.rows[index] = {
      ...this.rows[index]!,
      status,
      attempts: this.rows[index]!.attempts + (status === 1 ? 0 : 1),
    }
  }

  follow(first = 10): () => Promise<readonly string[]> {
    const followed = new FollowedEvents({
      first,
      newest: async (limit, cursor = '0') => {
        const from = Number(cursor)
        const events = this.rows.toSorted((a, b) => b.seq - a.seq).slice(from, from + limit)
        const next = from + limit < this.rows.length ? String(from + limit) : undefined
        return { events, cursor: next, isCut: false, lookedTo: undefined }
      },
      one: async ({ eventId }) => this.rows.find((row) => row.eventId === eventId),
    })
    return async () =>
      (await followed.look()).map((change) =>
        change.kind === 'missed' ? 'missed' : `${change.kind} ${change.row.eventId} ${change.row.status}`,
      )
  }
}

const names = (from: number, count: number) => Array.from({ length: count }, (_, index) => `e${from + index}`)

describe('followed events', () => {
  it('are told once, in write order, and again with each change', async () => {
    const table = new Table()
    table.write('a', 'b')
    const look = table.follow()
    deepEqual(await look(), ['written a 0', 'written b 0'])
    deepEqual(await look(), [])
    table.write('c')
    table.settle('a', 2)
    deepEqual(await look(), ['changed a 2', 'written c 0'])
    table.settle('a', 2)
    table.settle('b', 1)
    deepEqual(await look(), ['changed a 2', 'changed b 1'])
  })

  it('that were there before are told up to the first ones, and the others never', async () => {
    const table = new Table()
    table.write('a', 'b')
    const look = table.follow(1)
    deepEqual(await look(), ['written b 0'])
    table.settle('a', 3)
    table.settle('b', 3)
    deepEqual(await look(), ['changed b 3'])
  })

  it('are followed when they are no longer among the newest, and until they are gone', async () => {
    const table = new Table()
    table.write('old', 'gone')
    const look = table.follow()
    await look()
    table.write(...names(0, 450))
    deepEqual((await look()).length, 450)
    table.settle('old', 1)
    table.rows.splice(1, 1)
    deepEqual(await look(), ['changed old 1', 'gone gone 0'])
    deepEqual(await look(), [])
  })

  it('that are too many at once are told as missed', async () => {
    const table = new Table()
    table.write('a')
    const look = table.follow()
    await look()
    table.write(...names(0, 3_000))
    const told = await look()
    deepEqual([told[0], told.length], ['missed', 2_001])
  })

  it('of a long transaction appear behind newer ones, and are told', async () => {
    const table = new Table()
    table.write('late', 'a')
    const late = table.rows.shift()!
    const look = table.follow()
    deepEqual(await look(), ['written a 0'])
    table.rows.push(late)
    deepEqual(await look(), ['written late 0'])
  })
})
