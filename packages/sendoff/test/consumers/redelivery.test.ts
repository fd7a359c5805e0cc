import { deepEqual, equal, match } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MessageRuns } from '../../src/consumers/message-runs.ts'
import { expectRedelivery } from '../../src/consumers/redelivery.ts'
import type { ConsumerOptions } from '../../src/consumers/shared.ts'
import { webhookReceiver } from '../../src/consumers/webhooks/index.ts'
import { Inbox } from '../../src/inbox/index.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { Effects } from './effects.ts'

const dayMs = 86_400_000

describe('how long a broker may deliver a message again', () => {
  const expect = async (
    effects: Effects,
    options: Partial<ConsumerOptions<any>>,
    learn?: Parameters<typeof expectRedelivery>[3],
  ): Promise<void> => {
    const { inbox, handler, logger } = effects
    const all = { inbox, handler, logger, ...options } as ConsumerOptions<any>
    await expectRedelivery(MessageRuns.of('Test', all), all, ['topic "a"', 'topic "b"'], learn)
  }

  it('is compared with the marks of the inbox, and told of once', async (test) => {
    const effects = await Effects.forTest(test)
    await expect(effects, { redeliveryMs: 14 * dayMs })
    deepEqual(effects.warnings, [])
    await expect(effects, { redeliveryMs: 30 * dayMs })
    await expect(effects, { redeliveryMs: 30 * dayMs })
    equal(effects.warnings.length, 2)
    match(
      effects.warnings[0]!,
      /keeps marks for 14 days, but topic "a" .* after 30 days.*retentionMs of the inbox/,
    )
    match(effects.warnings[1]!, /topic "b"/)
  })

  it('is what the broker says, unless the option says something else', async (test) => {
    const effects = await Effects.forTest(test)
    const endless = () => Promise.resolve([{ source: 'topic "a"', redeliveryMs: Infinity }])
    await expect(effects, { redeliveryMs: dayMs }, endless)
    deepEqual(effects.warnings, [])
    await expect(effects, {}, endless)
    equal(effects.warnings.length, 1)
    match(effects.warnings[0]!, /after any time/)
  })

  it('remains unknown if the broker does not say it, and the log says what to do', async (test) => {
    const effects = await Effects.forTest(test)
    await expect(effects, {}, () => Promise.reject(new Error('not authorized')))
    equal(effects.log.length, 1)
    match(effects.log[0]!, /how long topic "a", topic "b" may .* redeliveryMs\. .*not authorized/)
  })

  it('is compared with the idempotency keys if messages are only accepted', async () => {
    const warnings: string[] = []
    const warn = (line: string): void => void warnings.push(line)
    const keeping = (purge?: object) =>
      new Inbox({
        outbox: Outbox.writerOnly({
          store: memoryStore(),
          logger: { debug() {}, info() {}, warn, error: warn },
          ...(purge && { purge }),
        }),
        consumer: 'billing',
        retentionMs: dayMs,
      })
    keeping().expectRedelivery('topic "a"', Infinity, 'accept')
    keeping({ idempotencyRetentionMs: 9 * dayMs }).expectRedelivery('topic "a"', 9 * dayMs, 'accept')
    deepEqual(warnings, [])
    keeping({}).expectRedelivery('topic "a"', 9 * dayMs, 'accept')
    equal(warnings.length, 1)
    match(
      warnings[0]!,
      /keeps keys .* for 7 days, but topic "a" .*purge\.idempotencyRetentionMs of the outbox/,
    )
  })

  it('can be told to a receiver of webhooks', async (test) => {
    const effects = await Effects.forTest(test)
    const { inbox, handler, logger } = effects
    const secrets = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw']
    const receive = webhookReceiver({ secrets, inbox, handler, logger, redeliveryMs: 20 * dayMs })
    await receive.close()
    equal(effects.warnings.length, 1)
    match(effects.warnings[0]!, /sender of webhooks may deliver a message again after 20 days/)
  })
})
