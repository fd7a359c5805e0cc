type Method = (...parameters: unknown[]) => unknown

/**
 * An object, or a function with properties, that works as `handle` until its owner says otherwise:
 * from then on every call throws what `assertOpen` throws.
 *
 * Methods run on the handle itself, since drivers keep their state where a proxy cannot reach.
 * Those named in `replaced` are answered from there.
 */
export function endingView<Handle extends object>(
  handle: Handle,
  assertOpen: () => void,
  replaced: Readonly<Record<PropertyKey, unknown>> = {},
): Handle {
  return new Proxy(handle, {
    get(target, property) {
      if (Object.hasOwn(replaced, property)) return replaced[property]

      const value: unknown = Reflect.get(target, property, target)
      if (typeof value !== 'function' || property === 'constructor') return value
      return (...parameters: unknown[]) => {
        assertOpen()
        return (value as Method).apply(target, parameters)
      }
    },

    set: (target, property, value) => Reflect.set(target, property, value, target),

    apply(target, self, parameters) {
      assertOpen()
      return Reflect.apply(target as unknown as Method, self, parameters)
    },
  })
}
