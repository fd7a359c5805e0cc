import { destinations } from './destinations.ts'
import type { Drawing } from './drawing.ts'
import { inbox } from './inbox.ts'
import { leases } from './leases.ts'
import { modeTree } from './mode-tree.ts'
import { modes } from './modes.ts'
import { order } from './order.ts'
import { pathOfAnEvent } from './path-of-an-event.ts'

/** All diagrams of `docs/diagrams`. */
export const diagrams: readonly Drawing[] = [
  pathOfAnEvent,
  ...modes,
  modeTree,
  leases,
  order,
  destinations,
  inbox,
]
