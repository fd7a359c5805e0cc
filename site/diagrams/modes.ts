import { arrow, box, type Drawing, label, type Look, table } from './drawing.ts'

interface ModeProcess {
  readonly text: string
  readonly look: Look
  /** What its arrow to or from the table stands for. */
  readonly does: string
  readonly arrow?: Look
}

/** Each preset: its processes above, the table below. */
export const modes: readonly Drawing[] = [
  mode(
    'singleNode',
    'One process reads the table under a lock. Another stands by, and delivers only what it wrote itself.',
    [
      { text: 'process A|polls', look: 'main', does: 'reads under|the lock', arrow: 'main' },
      {
        text: 'process B|stands by',
        look: 'plain',
        does: 'asks for the lock,|sends its own',
        arrow: 'faint',
      },
    ],
  ),
  mode('multiNode', 'All processes share the work. Each leases the rows that it delivers.', [
    { text: 'process A', look: 'main', does: 'leases|rows 1, 4', arrow: 'main' },
    { text: 'process B', look: 'main', does: 'leases|rows 2, 5', arrow: 'main' },
    { text: 'process C', look: 'main', does: 'leases|row 3', arrow: 'main' },
  ]),
  mode(
    'singleWriter',
    'One replica at a time polls under a lock for one tick. Each replica sends its own new events through a circuit breaker.',
    [
      { text: 'replica A|has this tick', look: 'main', does: 'sends all|that is due', arrow: 'main' },
      { text: 'replica B|skips it', look: 'plain', does: 'sends|its own', arrow: 'faint' },
      { text: 'replica C|skips it', look: 'plain', does: 'sends|its own', arrow: 'faint' },
    ],
  ),
  mode(
    'partitioned',
    'Each process owns some of the 256 partitions of keys, and delivers the events of one key one by one.',
    [
      { text: 'process A|partitions 0–85', look: 'main', does: 'one lane|per key', arrow: 'main' },
      { text: 'process B|partitions 86–170', look: 'main', does: 'one lane|per key', arrow: 'main' },
      { text: 'process C|partitions 171–255', look: 'main', does: 'one lane|per key', arrow: 'main' },
    ],
  ),
  mode(
    'ordered',
    'One process delivers the whole table in write order, one event after another. Others stand by.',
    [
      { text: 'process A|one worker', look: 'main', does: '1, then 2,|then 3 …', arrow: 'main' },
      { text: 'process B|stands by', look: 'plain', does: 'asks for|the lock', arrow: 'faint' },
    ],
  ),
  mode('writerOnly', 'A process only writes events. Others, with any preset, deliver them.', [
    { text: '`writerOnly`|web process', look: 'main', does: 'writes', arrow: 'main' },
    { text: 'any preset|worker process', look: 'plain', does: 'delivers', arrow: 'plain' },
  ]),
]

function mode(name: string, title: string, processes: readonly ModeProcess[]): Drawing {
  const gap = 14
  const width = (452 - gap * (processes.length - 1)) / processes.length
  return {
    name: `mode-${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    title: `${name}: ${title}`,
    width: 480,
    height: 215,
    parts: [
      ...processes.flatMap(({ text, look, does, arrow: arrowLook = 'plain' }, index) => {
        const x = 14 + index * (width + gap)
        const middle = x + width / 2
        const line = does === 'writes' ? `${middle},56 ${middle},138` : `${middle},140 ${middle},58`
        return [
          box(x, 8, width, 48, text, look),
          arrow(line, arrowLook),
          label(middle + 8, 92, does, 'start'),
        ]
      }),
      table(14, 140, 452, 66, '`outbox_event`   1 · 2 · 3 · 4 · 5 …', 'plain'),
    ],
  }
}
