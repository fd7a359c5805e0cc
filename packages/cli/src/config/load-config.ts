import { existsSync } from 'node:fs'
import { extname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { usageError } from '../command-error.ts'
import type { SendoffConfig } from './config.ts'

/** The names of a configuration, in the order in which they are looked for. */
export const configNames = [
  'sendoff.config.ts',
  'sendoff.config.mts',
  'sendoff.config.js',
  'sendoff.config.mjs',
]

const parts: Readonly<Record<keyof SendoffConfig, 'string' | 'function' | 'object'>> = {
  url: 'string',
  table: 'string',
  schema: 'string',
  store: 'function',
  close: 'function',
  actor: 'string',
  relay: 'object',
}

/** Loads the configuration of a folder, or the file that the operator named; undefined if there is none. */
export async function loadConfig(
  folder: string,
  named: string | undefined,
): Promise<SendoffConfig | undefined> {
  const file =
    named === undefined
      ? configNames.map((name) => join(folder, name)).find((path) => existsSync(path))
      : resolve(folder, named)
  if (file === undefined) return undefined
  if (!existsSync(file)) throw usageError(`There is no configuration ${file}. Check the path after --config.`)

  let loaded: unknown
  try {
    loaded = await importFile(file)
  } catch (error) {
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    throw usageError(`The configuration ${file} cannot be loaded: ${reason}`)
  }
  return checked(file, loaded)
}

/** Imports a module. Where this Node does not take its TypeScript as it is, jiti translates it. */
async function importFile(file: string): Promise<unknown> {
  if (/^\.m?ts$/.test(extname(file))) {
    if (process.features.typescript === false) return await translated(file)
    try {
      return await native(file)
    } catch (error) {
      if (!needsTranslation(error)) throw error
      return await translated(file)
    }
  }
  return await native(file)
}

async function native(file: string): Promise<unknown> {
  const address = pathToFileURL(file).href
  const module = (await import(address)) as { readonly default?: unknown }
  return module.default
}

async function translated(file: string): Promise<unknown> {
  const { createJiti } = await import('jiti')
  return await createJiti(import.meta.url).import(file, { default: true })
}

// Enums and the like, or imports without their extension: usual in TypeScript, and unknown to Node.
function needsTranslation(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown }
  return (
    code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX' ||
    code === 'ERR_INVALID_TYPESCRIPT_SYNTAX' ||
    code === 'ERR_MODULE_NOT_FOUND' ||
    code === 'ERR_UNSUPPORTED_DIR_IMPORT' ||
    code === 'ERR_UNKNOWN_FILE_EXTENSION'
  )
}

function checked(file: string, loaded: unknown): SendoffConfig {
  if (typeof loaded !== 'object' || loaded === null) {
    throw usageError(
      `The configuration ${file} has no default export. Write: export default defineConfig({ … })`,
    )
  }
  for (const [name, value] of Object.entries(loaded)) {
    const kind = Object.hasOwn(parts, name) ? parts[name as keyof SendoffConfig] : undefined
    if (kind === undefined) {
      throw usageError(
        `The configuration ${file} has an unknown part "${name}". Known: ${Object.keys(parts).join(', ')}.`,
      )
    }
    if (value !== undefined && (typeof value !== kind || value === null)) {
      throw usageError(`The part "${name}" of the configuration ${file} is no ${kind}.`)
    }
  }
  return loaded
}
