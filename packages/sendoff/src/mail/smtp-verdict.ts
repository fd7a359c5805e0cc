/** The fields of nodemailer's errors that say what failed, and when. */
export interface SmtpError {
  readonly code?: string
  /** The command that failed, such as `RCPT TO`. */
  readonly command?: string
  readonly message?: string
  readonly response?: string
  readonly responseCode?: number
  readonly recipient?: string
  readonly rejectedErrors?: readonly SmtpError[]
  readonly syscall?: string
  readonly timeoutType?: string
}

const loginReplies = new Set([530, 534, 535, 538])
const loginStatus = /^5\.7\.(?:8|9|11)$/
// These errors concern the way to the server. None of them can happen once a mail is on its way.
const unavailableCodes = new Set(['EAUTH', 'ECONFIG', 'EDNS', 'ENOAUTH', 'EOAUTH2', 'EPROXY', 'ETLS'])
const openingCommand = /^(?:AUTH|EHLO|HELO|LHLO|STARTTLS)/
const openingTimeout = /^(?:CONNECT|GREETING|UPGRADE)_TIMEOUT$/
// No such mailbox, no such domain, bad syntax, moved away, a domain without mail, and a disabled mailbox.
const addressStatus = /^5\.(?:1\.(?:1|2|3|6|10)|2\.1)$/
// Nodemailer's own verdicts about a mail, without asking a server.
const lastingCodes = new Set(['EENVELOPE', 'EMAXRECIPIENTS', 'EMESSAGE'])

/**
 * Returns whether the transport cannot send any mail now: it cannot reach the server or log in, or the server
 * accepts no mail at all. A connection that was lost later does not count: the server may have accepted the
 * mail.
 */
export function isUnavailable(error: SmtpError): boolean {
  const { code = '', command = '', responseCode = 0 } = error
  if (isLoginFault(error)) return true
  if (unavailableCodes.has(code) || openingCommand.test(command)) return true
  if (error.syscall === 'connect' || openingTimeout.test(error.timeoutType ?? '')) return true
  if (command === 'CONN') return /^Invalid greeting/.test(error.message ?? '')
  return command === 'MAIL FROM' && (responseCode === 421 || /^4\.3\./.test(statusOf(error)))
}

/** Returns whether no further attempt can succeed. */
export function isPermanent(error: SmtpError): boolean {
  const { code = '', responseCode } = error
  if (responseCode === undefined) return lastingCodes.has(code)
  return responseCode >= 500 && !isLoginFault(error)
}

/**
 * Returns whether the address of a recipient is at fault. Only the enhanced status code in the reply to that
 * recipient says so: the same three digits also refuse senders, contents and relaying.
 */
export function isAddressFault(error: SmtpError): boolean {
  return error.command === 'RCPT TO' && isPermanent(error) && addressStatus.test(statusOf(error))
}

function isLoginFault(error: SmtpError): boolean {
  return loginReplies.has(error.responseCode ?? 0) || loginStatus.test(statusOf(error))
}

function statusOf({ response = '' }: SmtpError): string {
  return /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})(?!\S)/.exec(response)?.[1] ?? ''
}
