import { modeOf, outboxModes } from './outbox-mode.ts'

/** Reads one value of a configuration. Returns undefined if the value does not fit. */
export interface ConfigValue {
  /** The values that fit, in words. */
  readonly expects: string
  readonly read: (value: unknown) => unknown
}

const number: ConfigValue['read'] = (value) => {
  const read = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof read === 'number' && !Number.isNaN(read) ? read : undefined
}

const count: ConfigValue = {
  expects: 'a whole number of at least 1',
  read: (value) => atLeast(1, number(value), Number.isSafeInteger),
}

const countOrInfinity: ConfigValue = {
  expects: 'a whole number of at least 1, or Infinity',
  read: (value) => (number(value) === Infinity ? Infinity : count.read(value)),
}

const share: ConfigValue = {
  expects: 'a number above 0 and not above 1',
  read: (value) => {
    const read = number(value) as number | undefined
    return read !== undefined && read > 0 && read <= 1 ? read : undefined
  },
}

const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

const durationOrZero: ConfigValue = {
  expects: 'milliseconds, 0 or more, or a text with a unit: 500ms, 30s, 5m, 1h or 7d',
  read: (value) => {
    const [, amount, unit] = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*$/.exec(String(value)) ?? []
    return amount === undefined ? atLeast(0, number(value), Number.isFinite) : Number(amount) * units[unit!]!
  },
}

const duration: ConfigValue = {
  expects: 'milliseconds above 0, or a text with a unit: 500ms, 30s, 5m, 1h or 7d',
  read: (value) => durationOrZero.read(value) || undefined,
}

const flag: ConfigValue = {
  expects: 'true or false',
  read: (value) => ({ true: true, false: false })[String(value).trim().toLowerCase()],
}

const text: ConfigValue = {
  expects: 'a text that is not empty',
  read: (value) => (typeof value === 'string' && value.trim() !== '' ? value : undefined),
}

const mode: ConfigValue = {
  expects: `one of ${Object.keys(outboxModes).join(', ')}`,
  read: (value) => modeOf(String(value)),
}

function oneOf(...values: readonly string[]): ConfigValue {
  return {
    expects: `one of ${values.join(', ')}`,
    read: (value) => values.find((each) => each === value),
  }
}

function atLeast(least: number, value: unknown, is: (value: unknown) => boolean): unknown {
  return is(value) && (value as number) >= least ? value : undefined
}

/** Every setting of a configuration, by group. The empty group holds the settings outside of the groups. */
export const configSettings: Readonly<Record<string, Readonly<Record<string, ConfigValue>>>> = {
  '': { mode, migrate: flag, autoStart: flag },
  dispatcher: {
    workerCount: count,
    hotQueueCapacity: count,
    coldQueueCapacity: count,
    hotShare: count,
    maxAttempts: countOrInfinity,
    maxLosses: count,
    listenerTimeoutMs: duration,
    timeoutGraceMs: duration,
    drainTimeoutMs: durationOrZero,
    shutdownTimeoutMs: durationOrZero,
    onUnroutable: oneOf('dead', 'defer'),
    unroutableDelayMs: duration,
    settleFirst: flag,
    deleteCompleted: flag,
    onKeyFailure: oneOf('blockUntilDead', 'block', 'continue'),
    onFailure: oneOf('dead', 'retryForever'),
  },
  retry: {
    policy: oneOf('exponential', 'linear', 'fixed'),
    baseDelayMs: duration,
    maxDelayMs: duration,
    stepMs: durationOrZero,
    jitterMs: durationOrZero,
  },
  poller: {
    enabled: flag,
    intervalMs: duration,
    busyIntervalMs: duration,
    batchSize: count,
    maxBatchSize: count,
    skipRecentMs: durationOrZero,
  },
  claimLocking: { enabled: flag, lockTimeoutMs: duration, ownerId: text },
  purge: {
    enabled: flag,
    retentionMs: duration,
    deadRetentionMs: duration,
    idempotencyRetentionMs: duration,
    batchSize: count,
    intervalMs: duration,
    ageMs: duration,
  },
  metrics: { enabled: flag, prefix: text, maxTypes: count },
  health: { maxPollAgeMs: duration, maxLagMs: duration, maxDeadMs: duration },
  lock: { name: text, ttlMs: duration, renewMarginMs: duration },
  circuitBreaker: {
    enabled: flag,
    failureRate: share,
    minimumCalls: count,
    windowMs: duration,
    coolDownMs: duration,
    trialCalls: count,
  },
}
