/** The name of an outbox that has no other. */
export const defaultOutboxName = 'default'

/** The token of an outbox: `@InjectOutbox(name)` injects it, and tests override it. */
export function getOutboxToken(name: string = defaultOutboxName): symbol {
  return Symbol.for(`sendoff:outbox:${name}`)
}

/** The token of the options of an outbox, after its configuration was read and checked. */
export function getOutboxOptionsToken(name: string = defaultOutboxName): symbol {
  return Symbol.for(`sendoff:options:${name}`)
}

/** The token of the registry in which the module registers the listeners of an outbox. */
export function getListenerRegistryToken(name: string = defaultOutboxName): symbol {
  return Symbol.for(`sendoff:listeners:${name}`)
}

/** The token of the part that starts and closes an outbox with the application. */
export function getOutboxLifecycleToken(name: string = defaultOutboxName): symbol {
  return Symbol.for(`sendoff:lifecycle:${name}`)
}

/**
 * The token of a registry of `prom-client`. If a provider has it, every outbox exports its metrics there. A
 * provider with a factory has to be in a global module, or in one that the outbox imports.
 */
export const OUTBOX_METRICS_REGISTRY: unique symbol = Symbol.for('sendoff:metrics-registry')
