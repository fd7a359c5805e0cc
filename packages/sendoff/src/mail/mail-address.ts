import { domainToASCII } from 'node:url'
import { kindOf } from '../options.ts'
import { invalidMail } from './mail-errors.ts'

/** A mailbox, with the name of whoever it belongs to. */
export interface MailAddress {
  readonly name?: string
  readonly address: string
}

/** `ada@example.com`, `Ada Lovelace <ada@example.com>`, or its parts. */
export type MailAddressLike = string | MailAddress

const maxAddressLength = 254
const maxLocalLength = 64

// Quoted local parts and address literals are left out on purpose: hardly anybody has one, and they hide commands.
const localPart = /^[^\s\p{Cc}@<>()[\]\\,;:"]+$/u
const domainPart =
  /^(?=.{1,253}$)[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?(?:\.[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?)*$/u
const namedAddress = /^\s*(?:"([^"]*)"|([^<>"]*?))\s*<([^<>]+)>\s*$/

/** The address in its parts. Throws `OUTBOX_INVALID_MAIL` for what is none, or would forge a header. */
export function checkedAddress(field: string, value: unknown): MailAddress {
  const { name, address } = partsOf(field, value)
  if (name !== undefined) checkHeaderText(`the name in ${field}`, name)
  if (!isAddress(address)) throw invalidMail(`has no valid address in ${field}.`)
  return name === undefined || name === '' ? { address } : { name, address }
}

/** One address or a list of them, as a list. */
export function checkedAddresses(field: string, value: unknown): readonly MailAddress[] {
  if (value === undefined) return []
  return (Array.isArray(value) ? value : [value]).map((item) => checkedAddress(field, item))
}

/**
 * The same for all ways to write one mailbox: hardly any server tells upper case from lower case, and mail goes to
 * international domains under their ASCII names.
 */
export function mailboxOf(address: string): string {
  const at = address.lastIndexOf('@')
  const domain = address.slice(at + 1)
  return `${address.slice(0, at)}@${domainToASCII(domain) || domain}`.toLowerCase()
}

/** Refuses what would end the header that it is written into, and begin another. */
export function checkHeaderText(what: string, value: unknown): asserts value is string {
  if (typeof value !== 'string') throw invalidMail(`needs a string as ${what}, not ${kindOf(value)}.`)
  if (/\p{Cc}/u.test(value)) {
    throw invalidMail(`has a line break or another control character in ${what}, which could forge a header.`)
  }
  if (!value.isWellFormed()) throw invalidMail(`has half a surrogate pair in ${what}.`)
}

function partsOf(field: string, value: unknown): { readonly name?: string; readonly address: unknown } {
  if (typeof value === 'object' && value !== null && 'address' in value) {
    return value
  }
  if (typeof value !== 'string') {
    throw invalidMail(`needs an address in ${field}: a string, or an object with address and name.`)
  }
  const named = namedAddress.exec(value)
  return named === null ? { address: value } : { name: named[1] ?? named[2]!, address: named[3]! }
}

function isAddress(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > maxAddressLength || !value.isWellFormed()) return false
  const at = value.lastIndexOf('@')
  const local = value.slice(0, at)
  if (at < 1 || local.length > maxLocalLength || local.startsWith('-')) return false
  return localPart.test(local) && domainPart.test(value.slice(at + 1))
}
