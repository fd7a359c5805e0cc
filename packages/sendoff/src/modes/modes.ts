import type { Mode } from './mode.ts'
import { multiNode } from './multi-node.ts'
import { ordered } from './ordered.ts'
import { partitioned } from './partitioned.ts'
import { singleNode } from './single-node.ts'
import { singleWriter } from './single-writer.ts'

/** The modes that deliver, by the names of their presets. */
export const modes: Record<DeliveringMode, Mode> = {
  singleNode,
  multiNode,
  singleWriter,
  ordered,
  partitioned,
}

/** The name of a mode that delivers. */
export type DeliveringMode = 'singleNode' | 'multiNode' | 'singleWriter' | 'ordered' | 'partitioned'
