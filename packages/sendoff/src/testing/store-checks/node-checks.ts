import { deepEqual, equal } from 'node:assert/strict'
import type { NodeRequest, OutboxStore } from '../../store/index.ts'
import type { PartCheck } from '../store-check.ts'

export const nodeChecks: readonly PartCheck[] = [
  {
    name: 'nodes: processes of one mode join, once or many times',
    async run({ store }) {
      deepEqual(await joined(store, nodeOf('a', 'multiNode')), joinedIn('multiNode'))
      deepEqual(await joined(store, nodeOf('b', 'multiNode')), joinedIn('multiNode'))
      deepEqual(await joined(store, nodeOf('a', 'multiNode')), joinedIn('multiNode'))
    },
  },
  {
    name: 'nodes: a process that joins gets what is paused, the first time and later',
    needs: ['controls'],
    async run({ store }) {
      await store.controls.pause({ eventType: 'Paid' })
      const answer = { ...joinedIn('multiNode'), paused: [{ eventType: 'Paid' }] }
      deepEqual(await joined(store, nodeOf('a', 'multiNode')), answer)
      deepEqual(await joined(store, nodeOf('a', 'multiNode')), answer)

      await store.controls.resume({ eventType: 'Paid' })
      deepEqual(await joined(store, nodeOf('a', 'multiNode')), joinedIn('multiNode'))
    },
  },
  {
    name: 'nodes: a process that joins gets the last mode that a process joined with, even if that process is gone',
    async run({ store }) {
      const writer = nodeOf('writer', null)
      deepEqual(await joined(store, writer), joinedIn(null))
      await store.nodes.join(nodeOf('a', 'partitioned'))
      deepEqual(await joined(store, writer), joinedIn('partitioned'))

      await store.nodes.leave('a')
      deepEqual(await joined(store, writer), joinedIn('partitioned'))
      await store.nodes.join(nodeOf('b', 'multiNode'))
      equal((await store.nodes.join(nodeOf('c', 'ordered'))).kind, 'conflict')
      deepEqual(await joined(store, writer), joinedIn('multiNode'))
      deepEqual(await joined(store, nodeOf('d', null)), joinedIn('multiNode'))
    },
  },
  {
    name: 'nodes: a process of another mode is refused, and gets the mode and the ids of the living',
    async run({ store }) {
      await store.nodes.join(nodeOf('a', 'multiNode'))
      await store.nodes.join(nodeOf('b', 'multiNode'))
      await store.nodes.join(nodeOf('any', null))
      const answer = await store.nodes.join(nodeOf('c', 'ordered'))

      equal(answer.kind, 'conflict')
      if (answer.kind !== 'conflict') return
      equal(answer.mode, 'multiNode')
      deepEqual([...answer.nodes].sort(), ['a', 'b'])
    },
  },
  {
    name: 'nodes: a process that was refused is not registered',
    async run({ store }) {
      await store.nodes.join(nodeOf('a', 'multiNode'))
      await store.nodes.join(nodeOf('b', 'ordered'))
      deepEqual(await joined(store, nodeOf('c', 'multiNode')), joinedIn('multiNode'))
      await store.nodes.leave('a')
      await store.nodes.leave('c')

      deepEqual(await joined(store, nodeOf('d', 'singleNode')), joinedIn('singleNode'))
    },
  },
  {
    name: 'nodes: a process without a mode joins any mode, and keeps no process out',
    async run({ store }) {
      deepEqual(await joined(store, nodeOf('a', null)), joinedIn(null))
      deepEqual(await joined(store, nodeOf('b', 'ordered')), joinedIn('ordered'))
      deepEqual(await joined(store, nodeOf('c', null)), joinedIn('ordered'))
      deepEqual(await joined(store, nodeOf('a', null)), joinedIn('ordered'))
    },
  },
  {
    name: 'nodes: a process whose time ran out keeps no process out, and is refused when it comes back',
    async run({ store, wait }) {
      await store.nodes.join(nodeOf('a', 'multiNode', 50))
      await wait(60)

      deepEqual(await joined(store, nodeOf('b', 'ordered')), joinedIn('ordered'))
      deepEqual(await joined(store, nodeOf('a', 'multiNode')), {
        kind: 'conflict',
        mode: 'ordered',
        nodes: ['b'],
      })
    },
  },
  {
    name: 'nodes: a process that joins again stays registered beyond its first time limit',
    async run({ store, wait }) {
      await store.nodes.join(nodeOf('a', 'multiNode', 400))
      await store.nodes.join(nodeOf('a', 'multiNode'))
      await wait(420)

      equal((await store.nodes.join(nodeOf('b', 'ordered'))).kind, 'conflict')
    },
  },
  {
    name: 'nodes: a refusal does not extend the time of registered processes',
    async run({ store, wait }) {
      await store.nodes.join(nodeOf('a', 'multiNode', 400))
      equal((await store.nodes.join(nodeOf('b', 'ordered'))).kind, 'conflict')
      await wait(420)

      deepEqual(await joined(store, nodeOf('b', 'ordered')), joinedIn('ordered'))
    },
  },
  {
    name: 'nodes: a process that left is forgotten at once, and leaving twice is no error',
    async run({ store }) {
      await store.nodes.leave('a')
      await store.nodes.join(nodeOf('a', 'multiNode'))
      await store.nodes.leave('a')
      await store.nodes.leave('a')

      deepEqual(await joined(store, nodeOf('b', 'ordered')), joinedIn('ordered'))
    },
  },
  {
    name: 'nodes: leaving ends one registration and no other',
    async run({ store }) {
      await store.nodes.join(nodeOf('a', 'multiNode'))
      await store.nodes.join(nodeOf('b', 'multiNode'))
      await store.nodes.leave('a')

      deepEqual(await joined(store, nodeOf('c', 'ordered')), {
        kind: 'conflict',
        mode: 'multiNode',
        nodes: ['b'],
      })
    },
  },
  {
    name: 'nodes: a process that is alone may change its mode, which then is the mode of the table',
    async run({ store }) {
      await store.nodes.join(nodeOf('a', 'multiNode'))
      deepEqual(await joined(store, nodeOf('a', 'ordered')), joinedIn('ordered'))

      deepEqual(await joined(store, nodeOf('b', 'multiNode')), {
        kind: 'conflict',
        mode: 'ordered',
        nodes: ['a'],
      })
    },
  },
  {
    name: 'nodes: of two processes that join at the same time with different modes, one is refused',
    needsAnother: true,
    async run({ store, another }) {
      const other = await another!()
      const answers = await Promise.all([
        store.nodes.join(nodeOf('a', 'multiNode')),
        other.nodes.join(nodeOf('b', 'ordered')),
      ])

      deepEqual(answers.map((answer) => answer.kind).sort(), ['conflict', 'joined'])
    },
  },
]

/** Returns the answer to a process that joins, without the routing. */
async function joined<Tx>(store: OutboxStore<Tx>, node: NodeRequest): Promise<object> {
  const { routing: _, ...answer } = { routing: null, ...(await store.nodes.join(node)) }
  return answer
}

function joinedIn(mode: string | null): object {
  return { kind: 'joined', paused: [], mode }
}

function nodeOf(id: string, mode: string | null, ttlMs = 30_000): NodeRequest {
  return { id, mode, ttlMs }
}
