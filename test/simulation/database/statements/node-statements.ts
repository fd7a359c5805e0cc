import type { NodeAnswer, NodeRequest } from '../../../../packages/sendoff/src/store/index.ts'
import type { SimulatedDatabase } from '../simulated-database.ts'
import type { DatabaseTransaction, Program } from '../transaction.ts'

/** Registers a process, unless living processes have another mode. */
export function* joinNode(
  db: SimulatedDatabase,
  tx: DatabaseTransaction,
  { id, mode, ttlMs }: NodeRequest,
): Program<NodeAnswer> {
  yield* tx.lock(db.advisoryCell('nodes'))
  const now = db.now()
  for (const [name, { until }] of db.nodes) if (until <= now) db.nodes.delete(name)
  const others = [...db.nodes].filter(([name]) => name !== id)
  const living = others.find(([, node]) => node.mode !== null)?.[1].mode ?? null
  yield 'pause'
  if (mode !== null && living !== null && living !== mode) {
    const nodes = others.flatMap(([name, node]) => (node.mode === living ? [name] : []))
    return { kind: 'conflict', mode: living, nodes: nodes.sort() }
  }
  db.nodes.set(id, { mode, until: db.timeIn(ttlMs) })
  db.lastMode = mode ?? db.lastMode
  return { kind: 'joined', paused: pausedTargets(db), mode: db.lastMode, routing: db.routing }
}

/** Returns what is paused. */
export function pausedTargets(db: SimulatedDatabase) {
  return [...db.paused].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, target]) => target)
}
