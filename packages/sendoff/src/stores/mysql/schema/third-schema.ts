import type { OnlineStep } from './online-step.ts'

/**
 * The index of revision 3: the marks of the inbox by time, so that a purge finds the oldest ones of a
 * consumer.
 */
export const thirdSteps: readonly OnlineStep[] = [
  { kind: 'index', table: 'inbox', name: 'at', columns: 'consumer, received_at' },
]
