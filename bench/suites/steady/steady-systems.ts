import { type EventFields, Outbox } from 'sendoff'
import { OrderPlaced, payloadOf } from '../../bench-event.ts'
import type { BenchDatabases, Conditions, Subject } from '../../store-bench.ts'
import { type ListenerOf, type Mode, type OutboxChoices, sendoffWorker } from '../sendoff-outbox.ts'
import { type Gauge, steadySubject, type SteadySystem } from './steady-subject.ts'

/** Reads what a server has done, if it can tell. */
export type ReadGauge = (database: string, conditions: Conditions) => Promise<Gauge>

/** What differs from an outbox with all of its defaults. */
export interface SteadyVariant extends Pick<SteadySystem, 'disturb' | 'dueAfterMs' | 'mayRepeat'> {
  readonly choices?: OutboxChoices
  readonly listenerOf?: ListenerOf
  readonly fieldsOf?: (number: number) => EventFields
  /** Listeners that run at once, if the default is too few for the rate. */
  readonly workers?: number
}

/** Measures Sendoff in each of its modes under arrivals at a fixed rate. */
export function steadySubjects<Tx>(
  databases: BenchDatabases<Tx>,
  readGauge?: ReadGauge,
  { inOrder = true } = {},
): readonly Subject[] {
  const subject = (name: string, mode: Mode, variant?: SteadyVariant) =>
    steadySubject(sendoffSystem(databases, name, mode, variant, readGauge))
  return [
    subject('sendoff-single-node', 'singleNode'),
    subject('sendoff-multi-node', 'multiNode'),
    subject('sendoff-multi-node-delete', 'multiNode', { choices: { deleteCompleted: true } }),
    ...(inOrder ? [subject('sendoff-partitioned', 'partitioned')] : []),
  ]
}

/** A writer in one process, and workers in others. */
export function sendoffSystem<Tx>(
  databases: BenchDatabases<Tx>,
  name: string,
  mode: Mode,
  variant: SteadyVariant = {},
  readGauge?: ReadGauge,
): SteadySystem {
  const { choices, listenerOf, fieldsOf = () => ({}), workers, ...disturbance } = variant
  const worker = sendoffWorker(databases, mode, choices, listenerOf)
  const { serverCpuUs } = databases
  return {
    ...disturbance,
    name,
    worker: (database, conditions, onEvent) =>
      worker(database, { ...(workers !== undefined && { workers }), ...conditions }, onEvent),
    async open(name, conditions) {
      const database = await databases.create(name, conditions)
      const outbox = await Outbox.writerOnly({ store: database.openStore() }).start()
      return {
        ...(serverCpuUs && { serverCpuUs }),
        ...(readGauge && { gauge: () => readGauge(name, conditions) }),
        write: (number) =>
          outbox.transaction(async (tx) => {
            await database.insertOrder(tx, number)
            await outbox.write(OrderPlaced, payloadOf(number), fieldsOf(number))
          }),
        async close() {
          await outbox.close()
          await database.close()
        },
      }
    },
  }
}
