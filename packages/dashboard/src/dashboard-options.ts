import { OutboxError } from 'sendoff'
import type { OutboxAdmin } from 'sendoff/admin'
import type { Authorize } from './guard/visitor.ts'

/** Options of `dashboard`. */
export interface DashboardOptions {
  /** The outboxes to show, by the names that the page gives them: `{ orders: outboxAdmin({ store }) }`. */
  // The page never touches transactions, so admins of any kind of store fit.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly admins: Readonly<Record<string, OutboxAdmin<any>>>
  /** Says who sends a request, and what that person may do. */
  readonly authorize: Authorize
  /** The path that the dashboard is mounted under. Default: `/`. */
  readonly basePath?: string
  /** Whether all actions are refused, whatever the role. Default: false. */
  readonly readOnly?: boolean
  /**
   * Values that only admins see: `payload.card.number`, `payload.items.*.price`, `headers.authorization`, or
   * `payload` for all of it. Others cannot search texts then, and see no payloads of bytes. Default: none.
   */
  readonly redact?: readonly string[]
  /** The address of a trace: `https://traces.example.com/trace/{traceId}`. Default: none. */
  readonly traceUrl?: string
  /** Addresses of the page, if a proxy changes the Host header: `https://ops.example.com`. Default: none. */
  readonly origins?: readonly string[]
  /** How often the page shows a new state, in milliseconds. Default: 2,000. */
  readonly refreshMs?: number
  /** How long a visitor waits for the database, in milliseconds. Default: 10,000. */
  readonly timeLimitMs?: number
  /** How many live pages may be open at a time. Default: 100. */
  readonly maxStreams?: number
  /** Called with errors that are no fault of the visitor. Default: none. */
  readonly onError?: (error: unknown) => void
}

/** Defaults of `dashboard`. */
export const dashboardDefaults = {
  basePath: '/',
  readOnly: false,
  refreshMs: 2_000,
  timeLimitMs: 10_000,
  maxStreams: 100,
} as const

/** Options that are all there. */
export type CheckedOptions = DashboardOptions &
  Required<
    Pick<
      DashboardOptions,
      'basePath' | 'readOnly' | 'redact' | 'origins' | 'refreshMs' | 'timeLimitMs' | 'maxStreams'
    >
  >

const known: readonly string[] = [
  'admins',
  'authorize',
  'basePath',
  'readOnly',
  'redact',
  'traceUrl',
  'origins',
  'refreshMs',
  'timeLimitMs',
  'maxStreams',
  'onError',
]

/** Names of outboxes whose pages would have the paths of the API or of files. */
const reservedNames: readonly string[] = ['api', 'assets']

/** Checks the options of `dashboard`. The base path comes back without a slash at its end. */
export function checkDashboardOptions(options: DashboardOptions): CheckedOptions {
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue
    throw new OutboxError(
      'OUTBOX_UNKNOWN_OPTION',
      `dashboard() has no option "${name}". Its options are: ${known.join(', ')}.`,
    )
  }
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  const all = { ...dashboardDefaults, redact: [], origins: [], ...(given as unknown as DashboardOptions) }
  const { admins, authorize, basePath, redact, traceUrl, refreshMs, timeLimitMs, maxStreams } = all
  if (typeof authorize !== 'function') {
    throw invalid(
      'needs the option "authorize": a function that says who sends a request, and what that person may do',
    )
  }
  const names = typeof admins === 'object' && admins !== null ? Object.keys(admins) : []
  if (names.length === 0)
    throw invalid('needs the option "admins" with at least one outbox: { orders: outboxAdmin({ store }) }')
  for (const name of names) {
    if (!/^[\w-][\w.-]{0,63}$/.test(name)) {
      throw invalid(
        `cannot show an outbox as "${name}": use letters, digits, "-", "_" and, behind the first of these, ".", 64 at most`,
      )
    }
    if (reservedNames.includes(name)) {
      throw invalid(`cannot show an outbox as "${name}": the dashboard needs this path itself`)
    }
    if (typeof admins[name]?.overview !== 'function')
      throw invalid(`needs an admin for "${name}": outboxAdmin({ store })`)
  }
  if (!/^(?:\/[\w.~-]+)*\/?$/.test(basePath) || /\/\.{1,2}(?:\/|$)/.test(basePath)) {
    throw invalid(`cannot be mounted under "${basePath}": the base path begins with "/"`)
  }
  for (const path of redact) {
    if (!/^(?:payload|headers)(?:\.[^.]+)*$/.test(path)) {
      throw invalid(`cannot redact "${path}": a path begins with "payload" or "headers"`)
    }
  }
  if (traceUrl !== undefined && !/^https?:\/\//.test(traceUrl)) {
    throw invalid('needs a "traceUrl" that begins with http:// or https://')
  }
  for (const [name, value] of Object.entries({ refreshMs, timeLimitMs, maxStreams })) {
    if (!Number.isSafeInteger(value) || value < 1) throw invalid(`needs a whole number above 0 as "${name}"`)
  }
  return { ...all, basePath: basePath.replace(/\/$/, '') }
}

function invalid(what: string): OutboxError {
  return new OutboxError('OUTBOX_INVALID_OPTION', `dashboard() ${what}.`)
}
