import { describeError } from '../describe-error.ts'
import { RecoverableError, RetryAfterError, UnrecoverableError } from '../errors.ts'
import { mailboxOf } from './mail-address.ts'
import { recipientsOf, type StoredMessage } from './mail-message.ts'

/** Removes from a text everything that reveals the sender or a recipient of a mail. */
export type Discreet = (text: string) => string

const separator = /([\s<>()[\],;"]+)/
// The spellings of an at sign in HTML, and in plain text, URLs, SMTP parameters, quoted-printable and JSON.
const atEntity = /&#64;|&#x40;|&commat;/gi
const atSign = /@|%40|\+40|=40|\\u0040|＠/gi
const encodedWord = /=\?[^?\s]{1,40}\?[bq]\?[^?\s]{0,500}\?=/gi
const punctuation = new Set("'`.:!?=")

/**
 * Returns a function that removes the addresses of a message from error texts. These texts are stored
 * readable and go to the log, where addresses do not belong.
 *
 * Recipients become their numbers, and the sender `#from`. Any other address becomes `#?`, in every spelling.
 * So do names, and local parts that stand alone.
 */
export function withoutAddresses(message: StoredMessage): Discreet {
  const labels = new Map<string, string>()
  const name = (address: string, label: string) => {
    const mailbox = mailboxOf(address)
    for (const form of [mailbox, mailbox.slice(0, mailbox.lastIndexOf('@'))]) {
      if (!labels.has(form)) labels.set(form, label)
      const base64 = Buffer.from(form).toString('base64').replace(/=+$/, '').toLowerCase()
      if (!labels.has(base64)) labels.set(base64, label)
    }
  }
  for (const { address, number } of recipientsOf(message)) name(address, `#${number}`)
  name(message.from.address, '#from')
  for (const { address } of message.replyTo) name(address, '#?')

  const names = namesIn(message)
  return (text) => {
    const nameless = names.reduce((rest, known) => rest.replace(known, '#?'), text)
    const words = nameless.replace(encodedWord, '#?').replace(atEntity, '@').split(separator)
    return words.map((word) => discreetWord(word, labels)).join('')
  }
}

/** Returns the same error, or an equivalent one, without addresses in its text or in those of its causes. */
export function discreetError(error: unknown, discreet: Discreet): Error {
  const text = discreet(describeError(error))
  if (!(error instanceof Error)) return new RecoverableError(text)

  const message = text.startsWith(`${error.name}: `) ? text.slice(error.name.length + 2) : text
  const { name } = error
  if (error instanceof RetryAfterError) return new RetryAfterError(error.retryAfterMs, message)
  if (error instanceof UnrecoverableError) {
    return Object.assign(new UnrecoverableError(message, undefined, error.code), { name })
  }
  return Object.assign(new Error(message), { name })
}

function discreetWord(word: string, labels: ReadonlyMap<string, string>): string {
  let start = 0
  let end = word.length
  while (start < end && punctuation.has(word[start]!)) start++
  while (end > start && punctuation.has(word[end - 1]!)) end--
  if (start === end) return word

  const plain = word.slice(start, end).replace(atSign, '@')
  const label = labels.get(plain.includes('@') ? mailboxOf(plain) : plain.toLowerCase())
  if (label !== undefined) return `${word.slice(0, start)}${label}${word.slice(end)}`
  return plain.includes('@') ? '#?' : word
}

function namesIn({ from, to, cc, bcc, replyTo }: StoredMessage): readonly RegExp[] {
  const names = [from, ...to, ...cc, ...bcc, ...replyTo].flatMap(({ name }) => name ?? [])
  return [...new Set(names)]
    .filter((name) => name.trim().length > 1)
    .map((name) => new RegExp(name.trim().replace(/[$()*+./?[\\\]^{|}]/g, '\\$&'), 'giu'))
}
