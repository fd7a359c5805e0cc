export type Method = (...parameters: unknown[]) => unknown

/** The owner of a view, which decides how long the view may be used. */
export interface ViewOwner {
  /** Throws if views must no longer be used. */
  assertOpen(): void
}

// The view itself stores its owner: a weak map with a new key for every transaction burdens the garbage
// collector.
const ownerOfView = Symbol('owner')

/** Returns the owner of a view; undefined for anything else. */
export function viewOwnerOf(tx: object): ViewOwner | undefined {
  return (tx as { [ownerOfView]?: ViewOwner })[ownerOfView]
}

/** Makes a view of `handle`. The methods in `replaced` take the place of its own. */
export function endingView<Handle extends object>(
  handle: Handle,
  owner: ViewOwner,
  replaced?: Readonly<Record<PropertyKey, unknown>>,
): Handle {
  return new Proxy(handle, new EndingView(owner, replaced))
}

const nothing = {}

/**
 * Makes an object, or a function with properties, work like its target until the view ends. From then on
 * every call throws what the owner's `assertOpen` throws.
 *
 * Methods run on the target itself, because drivers keep private state that a proxy cannot reach.
 */
export class EndingView<Handle extends object> implements ProxyHandler<Handle> {
  protected readonly owner: ViewOwner
  readonly #replaced: Readonly<Record<PropertyKey, unknown>>

  constructor(owner: ViewOwner, replaced: Readonly<Record<PropertyKey, unknown>> = nothing) {
    this.owner = owner
    this.#replaced = replaced
  }

  get(target: Handle, property: PropertyKey): unknown {
    return property === ownerOfView ? this.owner : this.read(target, property)
  }

  set(target: Handle, property: PropertyKey, value: unknown): boolean {
    return Reflect.set(target, property, value, target)
  }

  apply(target: Handle, self: unknown, parameters: unknown[]): unknown {
    this.beforeCall()
    return Reflect.apply(target as unknown as Method, self, parameters)
  }

  protected read(target: Handle, property: PropertyKey): unknown {
    if (Object.hasOwn(this.#replaced, property)) return this.#replaced[property]

    const value: unknown = Reflect.get(target, property, target)
    if (typeof value !== 'function' || property === 'constructor') return value
    return (...parameters: unknown[]) => {
      this.beforeCall()
      return (value as Method).apply(target, parameters)
    }
  }

  protected beforeCall(): void {
    this.owner.assertOpen()
  }
}
