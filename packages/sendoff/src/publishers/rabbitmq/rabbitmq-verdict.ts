import { isSilence } from '../silence.ts'
import type { Verdict } from '../broker-publisher.ts'
import { errorChain } from '../error-chain.ts'
import { type RabbitmqMessage, UnroutableMessageError } from './rabbitmq-message.ts'

/** A message was not confirmed. `verdict` says what that means for it. */
export class UnconfirmedError extends Error {
  override readonly name = 'UnconfirmedError'
  /** Whether the channel was closed, perhaps because of another message on it. */
  readonly mayBeAnothersFault: boolean
  readonly verdict: Verdict

  constructor(message: RabbitmqMessage, error: unknown) {
    super(`RabbitMQ has not confirmed a message to exchange "${message.exchange}".`, { cause: error })
    const verdict = verdictOn(message, error)
    this.mayBeAnothersFault = verdict === 'channelClosed'
    this.verdict = verdict === 'channelClosed' ? 'unavailable' : verdict
  }
}

function verdictOn(message: RabbitmqMessage, error: unknown): Verdict | 'channelClosed' {
  if (isSilence(error)) return 'unavailable'
  if (error instanceof UnroutableMessageError) return 'retry'
  if (error instanceof TypeError || error instanceof RangeError) return 'fatal'

  const chain = errorChain(error)
  const text = chain.map((each) => each.message).join('\n')
  if (chain.some(({ code }) => code === 'NACK') || text.includes('message nacked')) return 'retry'

  // The broker's text names the message's size or exchange.
  const size = /message size (\d+)/.exec(text)?.[1]
  if (size !== undefined) return Number(size) === message.body.length ? 'fatal' : 'channelClosed'
  const exchange = /exchange '([^']*)'/.exec(text)?.[1]
  if (exchange !== undefined) return exchange === message.exchange ? 'retry' : 'channelClosed'
  return chain.some(({ code }) => code === 'CH_CLOSE') ? 'channelClosed' : 'unavailable'
}
