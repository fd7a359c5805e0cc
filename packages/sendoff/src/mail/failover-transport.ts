import { inTime } from '../answers.ts'
import { describeError } from '../describe-error.ts'
import { checkOptions, duration, having, invalidOption, type OptionCheck } from '../options.ts'
import { TransportUnavailableError } from './mail-errors.ts'
import type { ComposedMail, MailTransport, RejectedRecipient, SendContext } from './mail-transport.ts'

/** Options of `failoverTransport`. */
export interface FailoverTransportOptions {
  /** How long each transport may take before the next one is tried, in ms: 30 s by default. */
  readonly timeoutMs?: number
}

const transportList: OptionCheck = (value) =>
  Array.isArray(value) && value.length > 0 && value.every((item) => having('send')(item) === undefined)
    ? undefined
    : 'a list of transports'

/** Defaults of `failoverTransport`. */
export const failoverDefaults = { timeoutMs: 30_000 }

/**
 * Tries transports one after another, in their order. The next one gets the recipients that the one before
 * put off, but not those that it refused for good.
 *
 * A transport may hand over the mail and then fail, such as by a lost connection. The next transport then
 * sends the mail again, with the same `Message-ID`.
 */
export function failoverTransport(
  transports: readonly MailTransport[],
  options: FailoverTransportOptions = {},
): MailTransport {
  if (transportList(transports) !== undefined) {
    throw invalidOption('failoverTransport', 'transports', transports, transportList)
  }
  checkOptions('failoverTransport', options, { timeoutMs: duration })
  const { timeoutMs = failoverDefaults.timeoutMs } = options

  return {
    name: transports.map(({ name }) => name).join(', '),

    async send(mail, context) {
      const refused: RejectedRecipient[] = []
      const unavailable: TransportUnavailableError[] = []
      let left: readonly RejectedRecipient[] = []
      let to = mail.envelope.to
      for (const transport of transports) {
        const rejected = await rejectedBy(
          transport,
          { ...mail, envelope: { ...mail.envelope, to } },
          context,
          timeoutMs,
          unavailable,
        )
        refused.push(...rejected.filter(({ isPermanent }) => isPermanent))
        left = rejected.filter(({ isPermanent }) => !isPermanent)
        to = left.map(({ address }) => address)
        // The receipt must report the accepted recipients, even if there is no time left.
        if (to.length === 0 || context.signal.aborted) break
      }
      if (unavailable.length === transports.length) throw allUnavailable(unavailable)
      return { rejected: [...refused, ...left] }
    },

    // One transport that can send is enough. A transport without `verify` may be able to.
    ...(transports.every((transport) => 'verify' in transport) && {
      verify: (context) => Promise.any(transports.map((transport) => transport.verify!(context))),
    }),
  }
}

async function rejectedBy(
  transport: MailTransport,
  mail: ComposedMail,
  context: SendContext,
  timeoutMs: number,
  unavailable: TransportUnavailableError[],
): Promise<readonly RejectedRecipient[]> {
  try {
    return (await inTime(timeoutMs, (signal) => transport.send(mail, { signal }), context)).rejected
  } catch (error) {
    if (error instanceof TransportUnavailableError) unavailable.push(error)
    const reason = `${transport.name}: ${describeError(error)}`
    return mail.envelope.to.map((address) => ({ address, isPermanent: false, reason }))
  }
}

function allUnavailable(errors: readonly TransportUnavailableError[]): TransportUnavailableError {
  const waits = errors.map(({ retryAfterMs = 0 }) => retryAfterMs)
  return new TransportUnavailableError(errors.map(({ message }) => message).join('; '), {
    retryAfterMs: Math.min(...waits),
  })
}
