export type Method = (...parameters: unknown[]) => unknown

/** What a view asks its owner. */
export interface ViewOwner {
  /** Throws once views must no longer be used. */
  assertOpen(): void
}

// Asked of the view itself: a weak map with a new key for every transaction costs the garbage collector dear.
const ownerOfView = Symbol('owner')

/** The owner of a view; undefined for anything else. */
export function viewOwnerOf(tx: object): ViewOwner | undefined {
  return (tx as { [ownerOfView]?: ViewOwner })[ownerOfView]
}

/** A view on `handle`; methods named in `replaced` are answered from there. */
export function endingView<Handle extends object>(
  handle: Handle,
  owner: ViewOwner,
  replaced?: Readonly<Record<PropertyKey, unknown>>,
): Handle {
  return new Proxy(handle, new EndingView(owner, replaced))
}

const nothing = {}

/**
 * Makes an object, or a function with properties, work as its target until the owner says otherwise:
 * from then on every call throws what its `assertOpen` throws.
 *
 * Methods run on the target itself, since drivers keep their state where a proxy cannot reach.
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
