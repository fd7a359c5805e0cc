import {
  exponentialBackoff,
  fixedDelay,
  linearBackoff,
  OutboxError,
  type OutboxOptions,
  type RetryPolicy,
} from 'sendoff'
import { prometheusMetrics, type PrometheusRegistry } from 'sendoff/prometheus'
import { nestLogger } from './nest-logger.ts'
import { modeOf, type OutboxModeName, outboxModes } from './outbox-mode.ts'
import { moduleDefaults, type ModuleSettings } from './outbox-module-options.ts'
import { defaultOutboxName } from './outbox-tokens.ts'
import { readConfig, type ReadConfig } from './read-config.ts'

/** The options of an outbox after its configuration was read. */
export interface ResolvedOptions {
  /** How processes share the work. */
  readonly mode: OutboxModeName
  /** Whether the outbox starts with the application. */
  readonly autoStart: boolean
  /** The options of the preset of the mode. */
  readonly options: Partial<OutboxOptions<never, never>>
}

/** Joins the options in code with the configuration, which takes precedence, and checks both. */
export function resolveOptions(
  name: string,
  given: ModuleSettings & { readonly mode?: string },
  configPrefix: string = name === defaultOutboxName ? 'outbox' : `${name}.outbox`,
  registry?: PrometheusRegistry,
): ResolvedOptions {
  const { config, autoStart, mode: givenMode, ...options } = given
  const groups = readConfig(config, configPrefix)
  const mode = (groups['']?.['mode'] as OutboxModeName | undefined) ?? modeNamed(name, givenMode)
  requireClaimLocking(name, mode, groups['claimLocking'], configPrefix)
  return {
    mode,
    autoStart: (groups['']?.['autoStart'] as boolean | undefined) ?? autoStart ?? moduleDefaults.autoStart,
    options: withMetrics(withConfig(withLogger(options, name), groups), groups['metrics'], name, registry),
  }
}

type Given = Partial<OutboxOptions<never, never>>

function modeNamed(name: string, given: string | undefined): OutboxModeName {
  const mode = given === undefined ? moduleDefaults.mode : modeOf(given)
  if (mode !== undefined) return mode
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `Option "mode" of the outbox "${name}" must be one of ${Object.keys(outboxModes).join(', ')}, not "${given}".`,
  )
}

function requireClaimLocking(
  name: string,
  mode: OutboxModeName,
  settings: ReadConfig[string] | undefined,
  prefix: string,
): void {
  if (mode !== 'MULTI_NODE' || settings?.['enabled'] !== false) return
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `The outbox "${name}" has the mode MULTI_NODE, but "${prefix}.claim-locking.enabled" is false. Without claims, two processes would deliver the same events. ` +
      'Remove that setting, or choose SINGLE_NODE, in which one process at a time delivers.',
  )
}

function withLogger(options: Given, name: string): Given {
  return options.logger === undefined ? { ...options, logger: nestLogger(name) } : options
}

function withConfig(options: Given, groups: ReadConfig): Given {
  const { migrate } = groups[''] ?? {}
  const { lockTimeoutMs, ownerId } = groups['claimLocking'] ?? {}
  const merged = {
    ...options,
    ...groups['dispatcher'],
    ...present({ migrate, leaseMs: lockTimeoutMs, ownerId }),
    ...present({
      retryPolicy: retryPolicyOf(groups['retry']),
      poller: merge(options.poller, groups['poller']),
      health: merge(options.health, groups['health']),
      lock: merge((options as { lock?: object }).lock, groups['lock']),
      purge: purgeOf(options.purge, groups['purge']),
      circuitBreaker: breakerOf(
        (options as { circuitBreaker?: object | false }).circuitBreaker,
        groups['circuitBreaker'],
      ),
    }),
  }
  if (groups['purge']?.['enabled'] === false) delete (merged as { purge?: unknown }).purge
  return merged
}

function present(options: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}

function merge(given: object | undefined, settings: object | undefined): object | undefined {
  return settings === undefined || Object.keys(settings).length === 0 ? given : { ...given, ...settings }
}

// As in the specification, settings alone do not turn the purge on.
function purgeOf(given: object | true | undefined, settings: ReadConfig[string] = {}): unknown {
  const { enabled, ...rest } = settings
  if (given === undefined && enabled !== true) return undefined
  return merge(given === true ? {} : given, rest) ?? {}
}

function breakerOf(given: object | false | undefined, settings: ReadConfig[string] = {}): unknown {
  const { enabled, ...rest } = settings
  if (enabled === false || (given === false && enabled === undefined)) return false
  return merge(given === false ? {} : given, rest)
}

function retryPolicyOf(settings: ReadConfig[string] = {}): RetryPolicy | undefined {
  if (Object.keys(settings).length === 0) return undefined
  const { policy = 'exponential', baseDelayMs, ...rest } = settings
  if (policy === 'exponential') return exponentialBackoff(present({ baseDelayMs, ...rest }))
  if (policy === 'linear') return linearBackoff(present({ baseDelayMs, ...rest }))
  return fixedDelay((baseDelayMs as number | undefined) ?? usualFixedDelayMs, rest)
}

/** The pause of the policy `fixed` without `baseDelayMs`. */
const usualFixedDelayMs = 5_000

function withMetrics(
  options: Given,
  settings: ReadConfig[string] = {},
  name: string,
  registry: PrometheusRegistry | undefined,
): Given {
  const { enabled = true, ...rest } = settings
  if (enabled !== true) {
    const { metrics: _, ...without } = options
    return without
  }
  if (options.metrics !== undefined || registry === undefined) return options
  return { ...options, metrics: prometheusMetrics({ register: registry, name, ...rest }) }
}
