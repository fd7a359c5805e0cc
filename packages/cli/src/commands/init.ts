import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { usageError } from '../command-error.ts'
import { exitCodes } from '../exit-codes.ts'
import { schemaSqlOf } from '../open-store/open-store.ts'
import type { Command, CommandCall } from './command-call.ts'
import type { CommonOptions } from './command-options.ts'
import { type DatabaseKind, databaseKinds, firstFiles } from './first-files.ts'

/** Options of `sendoff init`. */
export interface InitOptions extends CommonOptions {
  readonly database?: string
  readonly js?: boolean
  readonly yes?: boolean
}

/** The drivers by which a project shows which database it has. */
const driversOf: Readonly<Record<string, DatabaseKind>> = {
  pg: 'postgres',
  postgres: 'postgres',
  mysql2: 'mysql',
  mariadb: 'mysql',
  ioredis: 'redis',
  redis: 'redis',
  'better-sqlite3': 'sqlite',
}

/** Writes a configuration, a migration and a first event into the folder. Overwrites nothing. */
export const init: Command<InitOptions> = async (call) => {
  const { options, terminal, folder } = call
  if (options.json) throw usageError('init writes files and prints no JSON. Leave --json out.')
  const installed = dependenciesOf(folder)
  const kind = await chosenKind(call, installed)
  const isTypeScript = options.js
    ? false
    : existsSync(join(folder, 'tsconfig.json')) || installed.has('typescript')
  const driver = [...installed].find((name) => driversOf[name] === kind)
  const schema = await schemaOf(kind)
  const files = firstFiles({ kind, isTypeScript, driver, schema })

  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name)
    if (existsSync(path)) {
      terminal.print(`${terminal.paint('yellow', 'kept   ')} ${name}: it exists`)
      continue
    }
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
    terminal.print(`${terminal.paint('green', 'written')} ${name}`)
  }
  terminal.print(
    `\nNext:\n${nextSteps(kind, driver, installed, isTypeScript)
      .map((step) => `  ${step}`)
      .join('\n')}`,
  )
  return exitCodes.done
}

async function chosenKind(
  { options, terminal }: CommandCall<InitOptions>,
  installed: ReadonlySet<string>,
): Promise<DatabaseKind> {
  const suggested =
    [...installed].map((name) => driversOf[name]).find((kind) => kind !== undefined) ?? 'sqlite'
  const kinds = databaseKinds.join(', ')
  if (options.database !== undefined) {
    if (isKind(options.database)) return options.database
    throw usageError(`--database "${options.database}" is none of ${kinds}.`)
  }
  if (options.yes || !terminal.canAsk) return suggested
  for (;;) {
    const reply = (await terminal.ask(`Which database (${kinds})? [${suggested}] `)).trim().toLowerCase()
    if (reply === '') return suggested
    if (isKind(reply)) return reply
  }
}

function isKind(text: string): text is DatabaseKind {
  return (databaseKinds as readonly string[]).includes(text)
}

function dependenciesOf(folder: string): ReadonlySet<string> {
  const file = join(folder, 'package.json')
  if (!existsSync(file)) return new Set()
  try {
    const { dependencies = {}, devDependencies = {} } = JSON.parse(readFileSync(file, 'utf8')) as {
      readonly dependencies?: object
      readonly devDependencies?: object
    }
    return new Set([...Object.keys(dependencies), ...Object.keys(devDependencies)])
  } catch {
    throw usageError(`${file} cannot be read as JSON. Mend it, then try again.`)
  }
}

/** The schema needs a driver. Without one, the operator prints it later. */
async function schemaOf(kind: DatabaseKind): Promise<string | undefined> {
  if (kind === 'redis') return undefined
  try {
    return await schemaSqlOf(kind === 'sqlite' ? 'sqlite:app.db' : `${kind}://localhost/app`, {})
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'OUTBOX_DRIVER_MISSING') return undefined
    throw error
  }
}

function nextSteps(
  kind: DatabaseKind,
  driver: string | undefined,
  installed: ReadonlySet<string>,
  isTypeScript: boolean,
): readonly string[] {
  const usual: Readonly<Record<DatabaseKind, string | undefined>> = {
    postgres: 'pg',
    mysql: 'mysql2',
    redis: 'ioredis',
    sqlite: undefined,
  }
  const missing = [
    ...(installed.has('sendoff') ? [] : ['sendoff']),
    ...[driver === undefined ? (usual[kind] ?? []) : []].flat(),
  ]
  const first = `node first-event.${isTypeScript ? 'ts' : 'mjs'}`
  return [
    ...(missing.length === 0 ? [] : [`npm install ${missing.join(' ')}`]),
    ...(kind === 'sqlite' ? [] : ['set SENDOFF_URL, or the address in the configuration']),
    'npx sendoff migrate',
    first,
    'npx sendoff status',
  ]
}
