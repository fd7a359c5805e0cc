/** The owner of a view, which decides how long the view may be used. */
export interface ViewOwner {
  /** Throws if views must no longer be used. */
  assertOpen(): void
}

/**
 * An object that behaves like its target until the owner ends it, and throws from then on.
 *
 * Methods run on the target itself, because drivers keep private state that a proxy cannot reach. If the
 * result of a method can run statements, it is a view, too.
 */
export class RevocableView<Target extends object> implements ProxyHandler<Target> {
  readonly view: Target
  protected readonly owner: ViewOwner

  constructor(target: Target, owner: ViewOwner) {
    this.owner = owner
    this.view = new Proxy(target, this)
  }

  get(target: Target, property: PropertyKey): unknown {
    // A promise reads `then` of any value that it resolves with, and resolving with a view must not fail.
    if (property === 'then') return undefined
    this.owner.assertOpen()

    const value: unknown = Reflect.get(target, property, target)
    if (typeof value !== 'function' || property === 'constructor' || isFixed(target, property)) return value
    return this.methodView(target, property, value as Method)
  }

  set(target: Target, property: PropertyKey, value: unknown): boolean {
    this.owner.assertOpen()
    return Reflect.set(target, property, value, target)
  }

  apply(target: Target, self: unknown, parameters: unknown[]): unknown {
    this.owner.assertOpen()
    return this.#viewOfResult(target, Reflect.apply(target as unknown as Method, self, parameters))
  }

  protected methodView(target: Target, _property: PropertyKey, method: Method): Method {
    const call = this.plainMethodView(target, method)
    return (...parameters) => this.#viewOfResult(target, call(...parameters))
  }

  /** For a method that returns data, through which no statement can run. */
  protected plainMethodView(target: Target, method: Method): Method {
    return (...parameters) => {
      this.owner.assertOpen()
      return method.apply(target, parameters)
    }
  }

  #viewOfResult(target: Target, result: unknown): unknown {
    // `statement.pluck()` and the like return the statement itself.
    if (result === target) return this.view
    return runsStatements(result) ? new RevocableView(result, this.owner).view : result
  }
}

export type Method = (...parameters: unknown[]) => unknown

// A proxy must return such a property as it is.
function isFixed(target: object, property: PropertyKey): boolean {
  const own = Reflect.getOwnPropertyDescriptor(target, property)
  return own !== undefined && !own.configurable && own.writable === false
}

// Statements and tag stores have `run`, iterators over rows `next`. `transaction(…)` of better-sqlite3
// returns a function.
function runsStatements(value: unknown): value is object {
  if (typeof value === 'function') return true
  if (typeof value !== 'object' || value === null) return false

  const { run, next } = value as { run?: unknown; next?: unknown }
  return typeof run === 'function' || typeof next === 'function'
}
