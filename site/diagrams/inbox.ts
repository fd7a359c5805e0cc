import { arrow, box, type Drawing, frame, label } from './drawing.ts'

/** A message that comes twice, and has its effects once. */
export const inbox: Drawing = {
  name: 'inbox',
  title:
    'A broker delivers a message twice. The first time, one transaction marks the message and has its effects, and then the consumer acknowledges. The second time the mark exists: the handler does not run, and the consumer acknowledges.',
  width: 480,
  height: 292,
  parts: [
    box(10, 60, 104, 44, 'message m-1', 'main'),
    label(62, 50, 'first time'),
    arrow('114,82 150,82', 'main'),
    frame(152, 12, 220, 150, 'one transaction'),
    box(168, 42, 188, 44, 'mark|(billing, m-1)', 'main'),
    box(168, 102, 188, 44, 'effects|`insert into invoices`'),
    arrow('262,86 262,100'),
    arrow('372,82 402,82', 'good'),
    label(384, 74, ''),
    box(404, 62, 66, 40, 'ack', 'good'),
    box(10, 214, 104, 44, 'message m-1', 'plain'),
    label(62, 204, 'again'),
    arrow('114,236 166,236'),
    box(168, 214, 188, 44, 'the mark exists:|the handler does not run'),
    arrow('356,236 402,236', 'good'),
    box(404, 216, 66, 40, 'ack', 'good'),
    label(262, 280, '`processed` the first time, `duplicate` the second'),
  ],
}
