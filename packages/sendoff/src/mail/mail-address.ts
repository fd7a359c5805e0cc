import { domainToASCII } from 'node:url'
import { kindOf } from '../options.ts'
import { invalidMail } from './mail-errors.ts'

/** A mailbox, with the name of its owner. */
export interface MailAddress {
  readonly name?: string
  readonly address: string
}

/** An address: `ada@example.com`, `Ada Lovelace <ada@example.com>`, or its parts. */
export type MailAddressLike = string | MailAddress

const maxAddressLength = 254
const maxLocalLength = 64
const maxLabelLength = 63
// Room for a name and an address, with quotes and brackets. Longer texts are refused before they are parsed.
const maxTextLength = 1_000
/** Servers may refuse longer lines, and lines break only at spaces. */
const maxWordLength = 900

// Quoted local parts and address literals are refused on purpose: few mailboxes need them, and they can hide
// commands.
const localPart = /^[^\s\p{Cc}@<>()[\]\\,;:"]+$/u
const domainLabel = /^[\p{L}\p{N}-]+$/u
const longWord = new RegExp(`[!-~]{${maxWordLength + 1}}`)

/**
 * Returns the parts of an address. Throws `OUTBOX_INVALID_MAIL` if it is not valid, or would forge a header.
 */
export function checkedAddress(field: string, value: unknown): MailAddress {
  const { name, address } = partsOf(field, value)
  if (name !== undefined) checkHeaderText(`the name in ${field}`, name)
  if (!isAddress(address)) throw invalidMail(`has no valid address in ${field}.`)
  return name === undefined || name === '' ? { address } : { name, address }
}

/** Returns one address or several as a list, each of them checked. */
export function checkedAddresses(field: string, value: unknown): readonly MailAddress[] {
  if (value === undefined) return []
  return (Array.isArray(value) ? value : [value]).map((item) => checkedAddress(field, item))
}

/**
 * Returns the same text for all spellings of one mailbox. Few servers distinguish upper from lower case,
 * international domains get mail under their ASCII names, and quotes around a local part have no meaning.
 */
export function mailboxOf(address: string): string {
  const at = address.lastIndexOf('@')
  const domain = address.slice(at + 1)
  return `${unquoted(address.slice(0, at))}@${domainToASCII(domain) || domain}`.toLowerCase()
}

/** Returns an address as it appears in a header, such as `"Lovelace, Ada" <ada@example.com>`. */
export function formatAddress({ name, address }: MailAddress): string {
  return name === undefined ? address : `"${name.replace(/["\\]/g, '\\$&')}" <${address}>`
}

/** Refuses a text that would end its header and begin another one. */
export function checkHeaderText(what: string, value: unknown): asserts value is string {
  if (typeof value !== 'string') throw invalidMail(`needs a string as ${what}, not ${kindOf(value)}.`)
  if (/\p{Cc}/u.test(value)) {
    throw invalidMail(`has a line break or another control character in ${what}, which could forge a header.`)
  }
  if (!value.isWellFormed()) throw invalidMail(`has half a surrogate pair in ${what}.`)
  if (longWord.test(value)) {
    throw invalidMail(`has more than ${maxWordLength} characters without a space in ${what}.`)
  }
}

function partsOf(field: string, value: unknown): { readonly name?: string; readonly address: unknown } {
  if (typeof value === 'object' && value !== null && 'address' in value) {
    return value
  }
  if (typeof value !== 'string') {
    throw invalidMail(`needs an address in ${field}: a string, or an object with address and name.`)
  }
  if (value.length > maxTextLength) throw invalidMail(`has no valid address in ${field}: it is too long.`)
  const trimmed = value.trim()
  const open = trimmed.lastIndexOf('<')
  if (open === -1 || !trimmed.endsWith('>')) return { address: value }
  return { name: nameBefore(field, trimmed.slice(0, open).trim()), address: trimmed.slice(open + 1, -1) }
}

function nameBefore(field: string, text: string): string {
  const isQuoted = text.length >= 2 && text.startsWith('"') && text.endsWith('"')
  const name = isQuoted ? text.slice(1, -1) : text
  const isSound = isQuoted ? !name.includes('"') : !/[<>"]/.test(name)
  if (isSound) return name
  throw invalidMail(`has no valid address in ${field}: give name and address in two fields.`)
}

function isAddress(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > maxAddressLength || !value.isWellFormed()) return false
  const at = value.lastIndexOf('@')
  return at > 0 && isLocalPart(value.slice(0, at)) && isDomain(value.slice(at + 1))
}

// Dots only separate words. A local part with other dots has to be quoted, and servers quote it in their
// replies.
function isLocalPart(local: string): boolean {
  if (local.length > maxLocalLength || local.startsWith('-') || !localPart.test(local)) return false
  return !local.startsWith('.') && !local.endsWith('.') && !local.includes('..')
}

function isDomain(domain: string): boolean {
  const labels = domain.split('.')
  const areSound = labels.every(
    (label) =>
      label.length <= maxLabelLength &&
      domainLabel.test(label) &&
      !label.startsWith('-') &&
      !label.endsWith('-'),
  )
  return areSound && domainToASCII(domain) !== ''
}

function unquoted(local: string): string {
  if (local.length < 2 || !local.startsWith('"') || !local.endsWith('"')) return local
  return local.slice(1, -1).replace(/\\(.)/g, '$1')
}
