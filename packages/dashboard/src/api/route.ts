import type { OutboxAdmin } from 'sendoff/admin'
import type { Role, Visitor } from '../guard/visitor.ts'
import type { WatchedOutbox } from '../live/watched-outbox.ts'
import type { Redaction } from './event-view.ts'

/** One call of the API. */
export interface Route {
  readonly method: 'GET' | 'POST'
  /** The path behind `api`, with names in braces, as in the OpenAPI file. */
  readonly path: string
  /** The role that a visitor needs at least. */
  readonly role: Role
  /** Returns what to answer as JSON, or a response. */
  readonly handle: (call: ApiCall) => Promise<unknown>
}

/** A call of the API that has passed all checks. */
export interface ApiCall {
  readonly request: Request
  readonly visitor: Visitor
  /** What this visitor does not see. */
  readonly redaction: Redaction | undefined
  readonly traceUrl: string | undefined
  /** The names in the path. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** The body of a POST; empty otherwise. */
  readonly body: Readonly<Record<string, unknown>>
  readonly outbox: WatchedOutbox
  /** The admin of the outbox, with the name of the visitor for the audit. */
  readonly admin: OutboxAdmin<never>
}

/** Finds the values of the names in a path; undefined if the path does not fit the route. */
export function paramsOf(route: Route, path: string): Record<string, string> | undefined {
  const wanted = route.path.split('/')
  const given = path.split('/')
  if (wanted.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, part] of wanted.entries()) {
    const value = given[index]!
    if (!part.startsWith('{')) {
      if (part !== value) return undefined
      continue
    }
    const decoded = decodedPart(value)
    if (decoded === undefined || decoded === '') return undefined
    params[part.slice(1, -1)] = decoded
  }
  return params
}

function decodedPart(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}
