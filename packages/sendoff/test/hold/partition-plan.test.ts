import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { planPartitions } from '../../src/hold/partition-plan.ts'
import type { PartitionShares } from '../../src/store/index.ts'

const count = 256

/** Who owns what, and who takes part: as a store would have it. */
class Table {
  readonly owners: (string | null)[] = Array.from({ length: count }, () => null)
  participants: string[] = []
  moves = 0

  get shares(): PartitionShares {
    return {
      participants: this.participants,
      partitions: this.owners.map((owner, partition) => ({
        partition,
        owner: owner !== null && this.participants.includes(owner) ? owner : null,
        epoch: 0,
      })),
      nextEndMs: Infinity,
    }
  }

  /** Acts on a plan as far as it is still possible. */
  act(token: string, { acquire, release } = planPartitions(this.shares, token)): void {
    for (const partition of release) if (this.owners[partition] === token) this.owners[partition] = null
    for (const partition of acquire) {
      if (this.shares.partitions[partition]!.owner !== null) continue
      this.owners[partition] = token
      this.moves++
    }
  }

  /** All participants read the plan and act until nothing changes any more. */
  settle(): void {
    for (let round = 0; round < 10; round++) {
      const before = [...this.owners]
      for (const token of this.participants) this.act(token)
      if (before.every((owner, index) => owner === this.owners[index])) return
    }
    throw new Error('the shares do not settle')
  }

  countOf(token: string): number {
    return this.owners.filter((owner) => owner === token).length
  }
}

describe('a plan of partitions', () => {
  it('gives everybody the same number, give or take one, whoever comes and goes', () => {
    const change = fc.record({ token: fc.constantFrom(...'abcdefghij'), comes: fc.boolean() })
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 20 }), (changes) => {
        const table = new Table()
        for (const { token, comes } of changes) {
          table.participants = table.participants.filter((each) => each !== token)
          if (comes) table.participants.push(token)
          table.settle()
          const counts = table.participants.map((each) => table.countOf(each))
          if (counts.length === 0) continue
          equal(
            counts.reduce((sum, each) => sum + each, 0),
            count,
          )
          ok(Math.max(...counts) - Math.min(...counts) <= 1, counts.join())
        }
      }),
    )
  })

  it('moves no more partitions than have to be', () => {
    const table = new Table()
    table.participants = ['a', 'b', 'c', 'd']
    table.settle()

    table.moves = 0
    table.participants.push('e')
    table.settle()
    equal(table.moves, table.countOf('e'))
    ok(table.moves <= 52)

    table.moves = 0
    const left = table.countOf('b') + table.countOf('d')
    table.participants = ['a', 'c', 'e']
    table.settle()
    equal(table.moves, left)
  })

  it('lets nobody ask for what another one asks for', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(null, 'a', 'b', 'c', 'gone'), { minLength: count, maxLength: count }),
        (owners) => {
          const table = new Table()
          table.participants = ['c', 'a', 'b']
          table.owners.splice(0, count, ...owners)
          const wanted = table.participants.flatMap((token) => planPartitions(table.shares, token).acquire)
          equal(new Set(wanted).size, wanted.length)
        },
      ),
    )
  })

  it('says what is missing where others have yet to let go', () => {
    const table = new Table()
    table.participants = ['a']
    table.settle()
    table.participants.push('b')
    deepEqual(planPartitions(table.shares, 'b'), { acquire: [], release: [], missing: 128 })
    equal(planPartitions(table.shares, 'a').release.length, 128)
  })
})
