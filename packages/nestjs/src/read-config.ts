import { OutboxError } from 'sendoff'
import { configSettings, type ConfigValue } from './config-settings.ts'
import type { OutboxConfig } from './outbox-config.ts'

/** The part of the `ConfigService` of `@nestjs/config` that is used here. */
export interface ConfigReader {
  get(path: string): unknown
}

/** The settings of a configuration by group, each in the type that the outbox takes. */
export type ReadConfig = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/**
 * Reads and checks the configuration of an outbox: an object, or a `ConfigService`. Of the latter it reads
 * the object under the prefix, and over that the environment variables named after it: `OUTBOX_MODE`,
 * `OUTBOX_CLAIM_LOCKING_LOCK_TIMEOUT_MS`. Throws for unknown settings, and for values that do not fit.
 */
export function readConfig(config: ConfigReader | OutboxConfig | undefined, prefix: string): ReadConfig {
  if (config === undefined) return {}
  if (!isReader(config)) return readGroups(config, prefix)
  const groups = readGroups(config.get(prefix) ?? {}, prefix)
  const variables = readVariables(config, prefix)
  return Object.fromEntries(
    Object.keys(configSettings).map((group) => [group, { ...groups[group], ...variables[group] }]),
  )
}

function isReader(config: ConfigReader | OutboxConfig): config is ConfigReader {
  return typeof (config as Partial<ConfigReader>).get === 'function'
}

function readGroups(tree: unknown, prefix: string): ReadConfig {
  const groups: Record<string, Record<string, unknown>> = {}
  for (const [key, value] of entriesOf(tree, prefix)) {
    const name = camelCase(key)
    if (value === undefined) continue
    if (Object.hasOwn(configSettings, name) && name !== '') {
      groups[name] = { ...groups[name], ...readGroup(name, value, `${prefix}.${key}`) }
    } else {
      const [setting, read] = settingOf('', key, prefix)
      groups[''] = { ...groups[''], [setting]: valueOf(read, value, `${prefix}.${key}`) }
    }
  }
  return groups
}

function readGroup(group: string, tree: unknown, path: string): Record<string, unknown> {
  const settings = entriesOf(tree, path).filter(([, value]) => value !== undefined)
  return Object.fromEntries(
    settings.map(([key, value]) => {
      const [setting, read] = settingOf(group, key, path)
      return [setting, valueOf(read, value, `${path}.${key}`)]
    }),
  )
}

function readVariables(config: ConfigReader, prefix: string): ReadConfig {
  const groups: Record<string, Record<string, unknown>> = {}
  for (const [group, settings] of Object.entries(configSettings)) {
    for (const [setting, read] of Object.entries(settings)) {
      const path = [prefix, group, setting].filter((part) => part !== '').join('.')
      for (const variable of new Set([variableOf(path), variableOf(path.replace(/Ms$/, ''))])) {
        const value = config.get(variable)
        if (value === undefined || value === '') continue
        groups[group] = { ...groups[group], [setting]: valueOf(read, value, variable) }
      }
    }
  }
  return groups
}

function entriesOf(tree: unknown, path: string): readonly [string, unknown][] {
  if (typeof tree === 'object' && tree !== null && !Array.isArray(tree)) return Object.entries(tree)
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `The configuration "${path}" must be an object with settings, not ${kindOf(tree)}.`,
  )
}

function settingOf(group: string, key: string, path: string): readonly [string, ConfigValue] {
  const settings = configSettings[group]!
  const name = camelCase(key)
  const setting = [name, `${name}Ms`].find((each) => Object.hasOwn(settings, each))
  if (setting !== undefined) return [setting, settings[setting]!]
  const groups = group === '' ? Object.keys(configSettings).filter((each) => each !== '') : []
  throw new OutboxError(
    'OUTBOX_UNKNOWN_OPTION',
    `The configuration "${path}" has no setting "${key}". Its settings are: ${[...Object.keys(settings), ...groups].join(', ')}. Remove it, or correct its name.`,
  )
}

function valueOf({ read, expects }: ConfigValue, value: unknown, path: string): unknown {
  const fitting = read(value)
  if (fitting !== undefined) return fitting
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `The setting "${path}" must be ${expects}, not ${kindOf(value)}.`,
  )
}

/** Names a value, but repeats no long text: it may be a secret at the wrong place. */
function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object') return 'an object'
  return typeof value === 'string' && value.length > 20 ? 'a longer text' : JSON.stringify(value)
}

function camelCase(key: string): string {
  return key.replace(/[-_]+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

/** Returns `OUTBOX_CLAIM_LOCKING_ENABLED` for `outbox.claimLocking.enabled`. */
function variableOf(path: string): string {
  return path
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/[.-]/g, '_')
    .toUpperCase()
}
