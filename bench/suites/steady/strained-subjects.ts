import { setTimeout as sleep } from 'node:timers/promises'
import type { EventEnvelope } from 'sendoff'
import type { OrderPayload } from '../../bench-event.ts'
import type { BenchDatabases, Conditions, OnEvent, Subject } from '../../store-bench.ts'
import { batchListener, type Mode } from '../sendoff-outbox.ts'
import { steadySubject } from './steady-subject.ts'
import { type ReadGauge, sendoffSystem, type SteadyVariant } from './steady-systems.ts'

/** Begins to disturb a run. Returns how it ends. */
type Disturb = (database: string, conditions: Conditions) => Promise<() => Promise<void>>

/** What a server can do to disturb a run. */
export interface Disturbances {
  /** Keeps a snapshot open in another session. */
  readonly holdSnapshot: Disturb
  /** Keeps the server from cleaning the outbox's table. */
  readonly stopVacuum: Disturb
}

const slowListenerMs = 20
const delayMs = 1_000
const keys = 10_000

/** Measures Sendoff at a fixed rate when something is not as it should be, compared with `sendoff-multi-node`. */
export function strainedSubjects<Tx>(
  databases: BenchDatabases<Tx>,
  { holdSnapshot, stopVacuum }: Disturbances,
  readGauge?: ReadGauge,
): readonly Subject[] {
  const subject = (name: string, variant: SteadyVariant = {}, mode: Mode = 'multiNode') =>
    steadySubject(sendoffSystem(databases, name, mode, variant, readGauge))

  return [
    subject('sendoff-multi-node'),
    subject('sendoff-multi-node-failing', { listenerOf: failingListener, mayRepeat: true }),
    subject('sendoff-multi-node-slow', { listenerOf: slowListener, workers: 100 }),
    subject('sendoff-multi-node-delayed', {
      fieldsOf: (number) => (isTenth(number) ? { deliverAfterMs: delayMs } : {}),
      dueAfterMs: (number) => (isTenth(number) ? delayMs : 0),
    }),
    subject('sendoff-multi-node-snapshot', { disturb: holdSnapshot }),
    subject('sendoff-multi-node-no-vacuum', { disturb: stopVacuum }),
    subject('sendoff-multi-node-purge', { choices: { purge: { retentionMs: 5_000, intervalMs: 1_000 } } }),
    subject('sendoff-partitioned-keys', { fieldsOf: keyOf(keys) }, 'partitioned'),
    subject('sendoff-partitioned-one-key', { fieldsOf: keyOf(1) }, 'partitioned'),
    subject(
      'sendoff-partitioned-one-key-batch',
      { fieldsOf: keyOf(1), listenerOf: batchListener },
      'partitioned',
    ),
  ]
}

const isTenth = (number: number) => number % 10 === 0

const keyOf = (count: number) => (number: number) => ({ orderingKey: `key-${number % count}` })

// One in a hundred events fails at its first attempt.
const failingListener =
  (onEvent: OnEvent) =>
  async (event: EventEnvelope<OrderPayload>, { attempt }: { readonly attempt: number }) => {
    onEvent(event)
    if (event.payload.i % 100 === 0 && attempt === 1) throw new Error('This listener fails now and then.')
  }

const slowListener = (onEvent: OnEvent) => async (event: EventEnvelope<OrderPayload>) => {
  onEvent(event)
  await sleep(slowListenerMs)
}
