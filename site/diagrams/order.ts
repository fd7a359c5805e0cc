import { arrow, box, type Drawing, label, type Look } from './drawing.ts'

/** Lanes of three keys, of which one waits for a retry. */
export const order: Drawing = {
  name: 'order',
  title:
    'Each key has a lane. In the lane of account a-1, event 2 waits for a retry, and event 3 waits behind it. The lanes of a-2 and a-3 continue.',
  width: 480,
  height: 230,
  parts: [
    ...lane(10, 'Account:a-1', [
      ['1|DONE', 'good'],
      ['2|RETRY in 4 s', 'bad'],
      ['3|waits', 'plain'],
    ]),
    ...lane(84, 'Account:a-2', [
      ['1|DONE', 'good'],
      ['2|runs now', 'main'],
      ['3|next', 'plain'],
    ]),
    ...lane(158, 'Account:a-3', [
      ['1|DONE', 'good'],
      ['2|DONE', 'good'],
      ['3|runs now', 'main'],
    ]),
  ],
}

function lane(y: number, key: string, events: readonly (readonly [text: string, look: Look])[]): string[] {
  return [
    label(8, y + 30, key, 'start'),
    ...events.flatMap(([text, look], index) => {
      const x = 96 + index * 130
      return [
        box(x, y, 112, 52, text, look),
        ...(index === 0 ? [] : [arrow(`${x - 18},${y + 26} ${x - 2},${y + 26}`)]),
      ]
    }),
  ]
}
