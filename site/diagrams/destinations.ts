import { arrow, box, type Drawing, label, table } from './drawing.ts'

/** One event that fans out to three destinations. */
export const destinations: Drawing = {
  name: 'destinations',
  title:
    'One write of OrderPlaced makes a row for each destination: broker, mail and billing. Each row has its own workers, attempts and fate.',
  width: 480,
  height: 300,
  parts: [
    box(140, 8, 200, 44, '`outbox.write(OrderPlaced)`', 'main'),
    arrow('240,52 240,72', 'main'),
    label(250, 68, 'the routing of the table', 'start'),
    ...(
      [
        [14, '`broker`', 'good', 'DONE', 'Kafka'],
        [172, '`mail`', 'bad', 'RETRY, attempt 3', 'the mail server is away'],
        [330, '`billing`', 'good', 'DONE', 'a listener'],
      ] as const
    ).flatMap(([x, name, look, state, target]) => [
      arrow(`240,74 ${x + 68},74 ${x + 68},96`, 'main'),
      table(x, 98, 136, 62, `row for|${name}`, 'plain'),
      arrow(`${x + 68},160 ${x + 68},188`),
      box(x, 190, 136, 40, 'its own workers'),
      arrow(`${x + 68},230 ${x + 68},244`, look),
      box(x, 246, 136, 30, state, look),
      label(x + 68, 292, target),
    ]),
  ],
}
