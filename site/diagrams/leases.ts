import { arrow, box, type Drawing, label, line } from './drawing.ts'

/** A process that dies with a lease, and the one that takes over its row. */
export const leases: Drawing = {
  name: 'leases',
  title:
    'Process A claims a row with a lease and renews it. A hangs. The lease runs out, and process B claims the row with a higher fence. B settles it. When A comes back, the store refuses its settlement.',
  width: 480,
  height: 270,
  parts: [
    label(10, 42, 'process A', 'start'),
    label(10, 132, 'the row', 'start'),
    label(10, 222, 'process B', 'start'),
    line('80,38 470,38'),
    line('80,218 470,218'),
    box(88, 22, 116, 32, 'listener runs', 'main'),
    box(204, 22, 112, 32, 'hangs', 'bad'),
    arrow('94,54 94,108', 'main'),
    label(99, 76, 'claim', 'start'),
    arrow('150,54 150,108', 'main'),
    label(155, 76, 'renew', 'start'),
    box(88, 110, 162, 36, 'lease of A, fence 1', 'main'),
    box(262, 110, 142, 36, 'lease of B, fence 2', 'good'),
    box(410, 110, 62, 36, 'DONE', 'good'),
    label(244, 166, 'the lease runs out', 'end'),
    line('250,110 250,172', 'bad'),
    arrow('276,202 276,148', 'good'),
    label(270, 190, 'claim', 'end'),
    box(268, 202, 120, 32, 'listener runs', 'good'),
    arrow('388,218 440,218 440,148', 'good'),
    label(434, 240, 'settle', 'end'),
    arrow('316,38 340,38 340,106', 'bad'),
    label(348, 68, 'settle, fence 1:|refused', 'start'),
  ],
}
