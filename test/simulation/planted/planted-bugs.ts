import type { FaultMode } from '../../faults/processes/node-setup.ts'

/** A mistake that a programmer could make in the engine, as a patch. */
export interface PlantedBug {
  /** The name of the patch, in the folder of this file. */
  readonly file: string
  /** What is wrong, in one sentence. */
  readonly wrong: string
  /** The modes in which it can matter. */
  readonly modes: readonly FaultMode[]
  /** The rules that may notice it. */
  readonly rules: readonly string[]
}

const held = 'a listener begins only while its process holds the event'
const inOrder = 'no event begins before the one in front of it is settled'
const oneHolder = 'an event has one holder at a time'
const stopsFirst = 'a delivery is told to stop before another begins'
const noRepeat = 'a process does not deliver an event again that it delivered successfully'
const noDuplicate = 'no duplicate without a fault'
const staysSettled = 'an event that is settled for good is not delivered again'
const risingToken = 'a later delivery has a higher fencing token'
const ends = 'every committed event ends DONE, or DEAD for a stated reason'

/** The bugs that the simulation has to find, each alone. */
export const plantedBugs: readonly PlantedBug[] = [
  {
    file: 'queue-not-woken-after-renewal.patch',
    wrong: 'A renewal of the lock that succeeds does not wake the queue that waits for it.',
    modes: ['singleWriter'],
    rules: [ends],
  },
  {
    file: 'queue-not-woken-after-refusal.patch',
    wrong: 'A refused settlement frees a worker, and the queue is not told.',
    modes: ['singleWriter'],
    rules: [ends],
  },
  {
    file: 'same-token-after-takeover.patch',
    wrong: 'A process that takes a lock anew uses the token of its last holding.',
    modes: ['singleNode', 'singleWriter', 'ordered', 'partitioned'],
    rules: [risingToken, held, noRepeat, noDuplicate, oneHolder, staysSettled],
  },
  {
    file: 'lease-from-answer.patch',
    wrong: 'The lease of a claim counts from the answer, and not from the request.',
    modes: ['multiNode'],
    rules: [held, stopsFirst],
  },
  {
    file: 'lock-from-answer.patch',
    wrong: 'The term of a lock counts from the answer, and not from the request.',
    modes: ['singleNode', 'ordered', 'partitioned'],
    rules: [held, stopsFirst],
  },
  {
    file: 'partition-released-while-running.patch',
    wrong: 'A worker releases a partition while a listener of one of its rows still runs.',
    modes: ['partitioned'],
    rules: [held, inOrder, oneHolder, noDuplicate, risingToken],
  },
  {
    file: 'lock-released-while-running.patch',
    wrong: 'A closing process releases its lock while a listener that it gave up still runs.',
    modes: ['ordered', 'partitioned'],
    rules: [held, inOrder, oneHolder, noDuplicate, risingToken],
  },
  {
    file: 'late-arrival-untracks.patch',
    wrong:
      'A row that arrives again is handed back, and its first delivery leaves the in-flight tracker with it.',
    modes: ['singleNode', 'singleWriter', 'multiNode'],
    rules: [held, oneHolder, noDuplicate, noRepeat, stopsFirst],
  },
  {
    file: 'refusal-taken-for-own-write.patch',
    wrong: 'After a failed settlement, a refusal counts as a success, and a success as a refusal.',
    modes: ['multiNode', 'singleNode', 'ordered'],
    rules: ['every refused settlement is counted', noRepeat, held, inOrder, noDuplicate],
  },
  {
    file: 'row-leaves-during-poll.patch',
    wrong: 'A settled row leaves the in-flight tracker at once, although an older poll still runs.',
    modes: ['singleNode', 'singleWriter'],
    rules: [held, noDuplicate, noRepeat, staysSettled],
  },
  {
    file: 'failed-settlement-dropped.patch',
    wrong: 'A settlement of one event that fails is dropped instead of repeated.',
    modes: ['multiNode', 'singleNode', 'singleWriter', 'ordered', 'partitioned'],
    rules: ['a settlement that failed is repeated', ends],
  },
  {
    file: 'lane-continues-before-settlement.patch',
    wrong: 'A lane begins its next event before the store has acknowledged the first.',
    modes: ['ordered', 'partitioned'],
    rules: [inOrder],
  },
  {
    file: 'queued-deliveries-begin-after-loss.patch',
    wrong: 'A queued delivery begins although the lock it was read under is lost.',
    modes: ['singleNode', 'ordered', 'partitioned'],
    rules: [held, inOrder, noDuplicate],
  },
  {
    file: 'unknown-commit-delivered.patch',
    wrong: 'A commit with an unknown end counts as confirmed, and its rows are delivered.',
    modes: ['multiNode', 'singleNode'],
    rules: ['a listener begins only for a committed event', held],
  },
]
