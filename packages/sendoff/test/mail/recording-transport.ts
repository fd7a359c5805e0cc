import type { ComposedMail, MailTransport, RejectedRecipient } from '../../src/mail/index.ts'

export type Answer = readonly RejectedRecipient[] | Error | 'hang'

/** Records the mails it gets, and returns what the test says. */
export class RecordingTransport implements MailTransport {
  readonly name: string
  readonly sent: ComposedMail[] = []
  readonly #answer: (mail: ComposedMail, call: number) => Answer | undefined

  constructor(
    answer: (mail: ComposedMail, call: number) => Answer | undefined = () => undefined,
    name = 'recording',
  ) {
    this.#answer = answer
    this.name = name
  }

  get recipients(): readonly (readonly string[])[] {
    return this.sent.map(({ envelope }) => envelope.to)
  }

  async send(mail: ComposedMail) {
    this.sent.push(mail)
    const answer = this.#answer(mail, this.sent.length)
    if (answer === 'hang') return new Promise<never>(() => {})
    if (answer instanceof Error) throw answer
    return { rejected: answer ?? [] }
  }
}

export function rejected(
  address: string,
  isPermanent: boolean,
  reason = isPermanent ? '550 no' : '450 later',
) {
  return { address, isPermanent, reason }
}
