import { equal, match } from 'node:assert/strict'
import { onEveryStore, startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'

onEveryStore(
  'a second process that stands by says so once',
  async (test, open, mode) => {
    const first = await startOutbox(test, open(), { mode })
    await writeTested(first.outbox, 1)
    await first.outbox.drain()
    const second = await startOutbox(test, open(), { mode })
    for (let poll = 0; poll < 5; poll++) await second.outbox.poll()

    equal(first.log.join(), '')
    equal(second.log.length, 1, second.log.join('\n'))
    match(
      second.log[0]!,
      /^warn: This process stands by: another one holds the lock "outbox-poller" and delivers\./,
    )
  },
  ['singleNode'],
)
