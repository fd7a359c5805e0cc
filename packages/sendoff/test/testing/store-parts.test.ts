import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { OutboxStore, StorePart } from '../../src/store/index.ts'
import { memoryStore, type MemoryTx } from '../../src/stores/memory/index.ts'
import { skipReason } from '../../src/testing/store-check.ts'
import { storeChecks } from '../../src/testing/store-checks/index.ts'

const parts: readonly StorePart[] = [
  'lanes',
  'partitions',
  'people',
  'orderingKeys',
  'controls',
  'purge',
  'inbox',
]

describe('a store that leaves a part out', () => {
  for (const part of parts) {
    it(`without ${part}, passes every check that does not need it`, async () => {
      let run = 0
      for (const check of storeChecks) {
        let time = Date.UTC(2026, 0, 1)
        const store = { ...memoryStore({ now: () => time }), [part]: undefined } as OutboxStore<MemoryTx>
        if (skipReason(check, { store }) !== undefined) continue
        await check.run({
          store,
          wait: async (ms) => {
            time += ms
          },
        })
        run++
      }
      equal(run > 50, true, `only ${run} checks were run`)
    })
  }

  it('without several parts, skips checks with a reason that names them', () => {
    const store = {
      ...memoryStore(),
      lanes: undefined,
      controls: undefined,
    } as unknown as OutboxStore<MemoryTx>
    const reasons = new Set(storeChecks.map((check) => skipReason(check, { store })))
    deepEqual(
      reasons,
      new Set([
        undefined,
        'the store leaves out controls',
        'the store leaves out lanes',
        'the store leaves out lanes and controls',
        'the store cannot be opened twice',
        'only the store can reach its rows',
      ]),
    )
  })
})
