/** Throws once a view must no longer be used. */
export type AssertUsable = () => void

/**
 * An object that behaves as `target` until `assertUsable` throws, and from then on throws the same.
 *
 * Methods run on the target itself, since drivers keep their state where a proxy cannot reach.
 * What they return is a view as well if statements can be run through it.
 */
export function revocableView<Target extends object>(target: Target, assertUsable: AssertUsable): Target {
  const methods = new Map<PropertyKey, unknown>()

  const view: Target = new Proxy(target, {
    get(_, property) {
      // Promises ask any value they resolve with for `then`: returning a view must not fail.
      if (property === 'then') return undefined
      assertUsable()

      const value: unknown = Reflect.get(target, property, target)
      if (typeof value !== 'function' || property === 'constructor' || isFixed(property)) return value
      if (!methods.has(property)) methods.set(property, methodView(value as Method))
      return methods.get(property)
    },

    set(_, property, value) {
      assertUsable()
      return Reflect.set(target, property, value, target)
    },

    apply(_, self, parameters) {
      assertUsable()
      return viewOfResult(Reflect.apply(target as Method, self, parameters))
    },
  })

  // A proxy must answer such a property as it is.
  function isFixed(property: PropertyKey): boolean {
    const own = Reflect.getOwnPropertyDescriptor(target, property)
    return own !== undefined && !own.configurable && own.writable === false
  }

  function methodView(method: Method): Method {
    return (...parameters) => {
      assertUsable()
      return viewOfResult(method.apply(target, parameters))
    }
  }

  function viewOfResult(result: unknown): unknown {
    // `statement.pluck()` and the like answer the statement itself.
    if (result === target) return view
    return runsStatements(result) ? revocableView(result, assertUsable) : result
  }

  return view
}

type Method = (...parameters: unknown[]) => unknown

// Statements and tag stores have `run`, iterators over rows `next`; better-sqlite3's
// `transaction(…)` answers a function.
function runsStatements(value: unknown): value is object {
  if (typeof value === 'function') return true
  if (typeof value !== 'object' || value === null) return false

  const { run, next } = value as { run?: unknown; next?: unknown }
  return typeof run === 'function' || typeof next === 'function'
}
