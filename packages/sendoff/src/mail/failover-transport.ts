import { describeError } from '../describe-error.ts'
import { checkOptions, duration, having, invalidOption, type OptionCheck } from '../options.ts'
import { inTime } from './in-time.ts'
import { TransportUnavailableError } from './mail-errors.ts'
import type { ComposedMail, MailTransport, RejectedRecipient, SendContext } from './mail-transport.ts'

/** Options of `failoverTransport`. */
export interface FailoverTransportOptions {
  /** How long each of the transports may take before the next one is tried: 30 s. */
  readonly timeoutMs?: number
}

const transportList: OptionCheck = (value) =>
  Array.isArray(value) && value.length > 0 && value.every((item) => having('send')(item) === undefined)
    ? undefined
    : 'a list of transports'

/** The value of each option that is left out. */
export const failoverDefaults = { timeoutMs: 30_000 }

/**
 * Tries one transport after the other, in their order. The next one gets those recipients whom the one before did not accept
 * for now; who was refused for good is not offered elsewhere. A transport that fails after it has handed the mail over, such as
 * by a lost connection, may be disbelieved wrongly: the next one then sends the mail again, with the same `Message-ID`.
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
        // What has been accepted is to be told, even where there is no time left.
        if (to.length === 0 || context.signal.aborted) break
      }
      if (unavailable.length === transports.length) throw allUnavailable(unavailable)
      return { rejected: [...refused, ...left] }
    },

    // One that can send is enough, and one that cannot be asked may be able to.
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
    return (await inTime((limits) => transport.send(mail, limits), context, timeoutMs)).rejected
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
