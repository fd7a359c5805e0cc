/**
 * What a visitor may do. A `viewer` only reads. An `operator` also replays, cancels, skips, pauses and parks.
 * An `admin` also purges and edits, and sees the fields that `redact` hides from others.
 */
export type Role = 'viewer' | 'operator' | 'admin'

/** The person behind a request. */
export interface Visitor {
  /** The name for the audit, such as `ann@example.com`. */
  readonly actor: string
  readonly role: Role
}

/**
 * Says who sends a request. Returns undefined to refuse the request with status 401, or a response of its
 * own, such as a redirect to a login page. If it throws, the request is refused.
 */
export type Authorize = (
  request: Request,
) => Visitor | Response | undefined | Promise<Visitor | Response | undefined>

const ranks: Readonly<Record<Role, number>> = { viewer: 0, operator: 1, admin: 2 }

/** Whether a role is enough for an action that needs `needed`. */
export function isAllowed(role: Role, needed: Role): boolean {
  return ranks[role] >= ranks[needed]
}

/** Whether this is a visitor with a name and a known role. */
export function isVisitor(value: unknown): value is Visitor {
  const { actor, role } = (value ?? {}) as Partial<Visitor>
  return (
    typeof actor === 'string' && actor.trim() !== '' && typeof role === 'string' && Object.hasOwn(ranks, role)
  )
}
