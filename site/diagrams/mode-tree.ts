import { arrow, box, type Drawing, label } from './drawing.ts'

/** The questions that lead to a preset. */
export const modeTree: Drawing = {
  name: 'choosing-a-mode',
  title:
    'Does this process only write? Then writerOnly. Must all events keep one order? Then ordered. Must events of one key keep order? Then partitioned. Does one process deliver? Then singleNode. Is it a relay of which one replica at a time may send the backlog? Then singleWriter. Otherwise multiNode.',
  width: 480,
  height: 470,
  parts: [
    ['Does this process only write?', '`writerOnly`'],
    ['Must all events keep one order?', '`ordered`'],
    ['Must events of one key keep order?', '`partitioned`'],
    ['Does a single process deliver?', '`singleNode`'],
    ['May only one replica at a time|send the backlog?', '`singleWriter`'],
  ]
    .flatMap(([question = '', answer = ''], index) => {
      const y = 8 + index * 84
      return [
        box(10, y, 260, 50, question),
        arrow(`270,${y + 25} 338,${y + 25}`, 'main'),
        label(302, y + 18, 'yes'),
        box(340, y, 130, 50, answer, 'main'),
        arrow(`140,${y + 50} 140,${y + 82}`),
        label(150, y + 72, 'no', 'start'),
      ]
    })
    .concat(box(75, 428, 130, 36, '`multiNode`', 'main')),
}
