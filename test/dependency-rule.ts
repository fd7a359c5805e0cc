import { matchesGlob, posix } from 'node:path'
import { packageOf, readImports } from './read-imports.ts'

/** A part of a package's `src`, and the other parts that it may import. */
export interface Zone {
  readonly name: string
  readonly holds: readonly string[]
  readonly sees: readonly string[]
  /** Its files and folders are adapters, which do not see one another. */
  readonly adapters?: true
}

/** The zones that every zone may see: small tools, the contract of stores, events and observers. */
const ground = ['tools', 'store', 'event', 'observe']

const engine = [
  ...ground,
  'delivery',
  'retry',
  'route',
  'process',
  'store calls',
  'write',
  'wake',
  'hold',
  'settle',
  'poll',
  'dispatch',
  'hot path',
  'purge',
  'dead',
]

/**
 * The dependency rule of `packages/sendoff`: one zone for each room, in the order in which they see one
 * another. Every zone sees itself and `node:` modules, but no package. No zone sees one below it, not even
 * its types.
 */
export const sendoffZones: readonly Zone[] = [
  {
    name: 'tools',
    holds: [
      '{answers,clock,closest-name,describe-error,duration-text,errors,latency-buckets,options,version,webhook-request,webhook-signature}.ts',
    ],
    sees: [],
  },
  { name: 'store', holds: ['store/**', 'transactions.ts'], sees: ['tools'] },
  { name: 'event', holds: ['event/**', 'publisher.ts'], sees: ['tools', 'store'] },
  { name: 'observe', holds: ['observe/*.ts'], sees: ['tools'] },
  { name: 'delivery', holds: ['delivery/**'], sees: ground },
  { name: 'retry', holds: ['retry/**'], sees: ground },
  { name: 'route', holds: ['route/**'], sees: [...ground, 'retry'] },
  { name: 'process', holds: ['process/**'], sees: [...ground, 'delivery', 'retry', 'route'] },
  { name: 'store calls', holds: ['store-calls/**'], sees: ground },
  { name: 'write', holds: ['write/**'], sees: ground },
  { name: 'wake', holds: ['wake/**'], sees: [...ground, 'store calls', 'write'] },
  { name: 'hold', holds: ['hold/**'], sees: [...ground, 'delivery', 'store calls', 'wake'] },
  { name: 'settle', holds: ['settle/**'], sees: [...ground, 'delivery', 'store calls'] },
  {
    name: 'poll',
    holds: ['poll/**'],
    sees: [...ground, 'delivery', 'route', 'store calls', 'wake', 'hold'],
  },
  {
    name: 'dispatch',
    holds: ['dispatch/**'],
    sees: [...ground, 'delivery', 'retry', 'route', 'process', 'store calls', 'wake', 'hold', 'settle'],
  },
  {
    name: 'hot path',
    holds: ['hot-path/**'],
    sees: [...ground, 'delivery', 'route', 'process', 'store calls', 'write', 'wake', 'hold', 'dispatch'],
  },
  { name: 'purge', holds: ['purge/**'], sees: [...ground, 'store calls'] },
  { name: 'dead', holds: ['dead/**'], sees: ground },
  { name: 'admin', holds: ['admin/**'], sees: ground },
  { name: 'modes', holds: ['modes/**'], sees: engine },
  { name: 'outbox', holds: ['outbox/**'], sees: [...engine, 'admin', 'modes'] },
  { name: 'mail', holds: ['mail/**'], sees: [...engine, 'outbox'] },
  { name: 'inbox', holds: ['inbox/**'], sees: [...engine, 'outbox'] },
  { name: 'consumer parts', holds: ['consumers/*.ts'], sees: [...engine, 'inbox'] },
  {
    name: 'consumers',
    holds: ['consumers/*/**'],
    sees: [...engine, 'inbox', 'consumer parts'],
    adapters: true,
  },
  { name: 'front door', holds: ['{index,parts}.ts'], sees: [...engine, 'modes', 'outbox', 'mail'] },
  { name: 'store parts', holds: ['stores/*.ts'], sees: ground },
  { name: 'SQL parts', holds: ['stores/sql/**'], sees: [...ground, 'store parts'] },
  { name: 'stores', holds: ['stores/{memory,redis}/**'], sees: [...ground, 'store parts'], adapters: true },
  {
    name: 'SQL stores',
    holds: ['stores/{sqlite,postgres,mysql}/**'],
    sees: [...ground, 'store parts', 'SQL parts'],
    adapters: true,
  },
  { name: 'publisher parts', holds: ['publishers/*.ts'], sees: ground },
  { name: 'publishers', holds: ['publishers/*/**'], sees: [...ground, 'publisher parts'], adapters: true },
  { name: 'transactions', holds: ['transactions/**'], sees: ground, adapters: true },
  { name: 'observers', holds: ['observe/*/**'], sees: ground, adapters: true },
]

/** The dependency rule of `packages/cli`: commands stand on the rest, and no command is loaded before it runs. */
export const cliZones: readonly Zone[] = [
  { name: 'tools', holds: ['{command-error,exit-codes,given,hidden-secrets}.ts'], sees: [] },
  { name: 'terminal', holds: ['terminal/**'], sees: ['tools'] },
  { name: 'open store', holds: ['open-store/**'], sees: ['tools'] },
  { name: 'relay', holds: ['relay/**'], sees: ['tools', 'open store'] },
  { name: 'config', holds: ['config/**'], sees: ['tools', 'relay'] },
  { name: 'commands', holds: ['commands/**'], sees: ['tools', 'terminal', 'open store', 'relay', 'config'] },
  { name: 'program', holds: ['program/**'], sees: ['commands'] },
  {
    name: 'entry points',
    holds: ['{index,main}.ts'],
    sees: ['tools', 'terminal', 'open store', 'relay', 'config', 'commands', 'program'],
  },
]

/** The dependency rule of `packages/nestjs`: what listeners are, then the configuration, then the module. */
export const nestjsZones: readonly Zone[] = [
  { name: 'tokens', holds: ['{outbox-tokens,inject-outbox,nest-logger}.ts'], sees: [] },
  {
    name: 'configuration',
    holds: [
      '{config-settings,outbox-config,outbox-mode,outbox-module-options,read-config,resolve-options}.ts',
    ],
    sees: ['tokens'],
  },
  {
    name: 'listeners',
    holds: ['listener-*.ts', 'outbox-{fallback,listener,retryable}.ts'],
    sees: ['tokens'],
  },
  {
    name: 'module',
    holds: ['index.ts', 'outbox-{health-indicator,lifecycle,module,transactional-adapter,worker-module}.ts'],
    sees: ['tokens', 'configuration', 'listeners'],
  },
  { name: 'dashboard', holds: ['dashboard/**'], sees: ['tokens', 'configuration'] },
]

/** The dependency rule of `packages/dashboard`. Only `live` and `api` know outboxes. */
export const dashboardZones: readonly Zone[] = [
  { name: 'guard', holds: ['guard/**'], sees: [] },
  { name: 'static', holds: ['static/**'], sees: ['guard'] },
  {
    name: 'views',
    holds: ['api/{answers,event-view,mail-view,redact-json,exact-json,trace-link}.ts'],
    sees: ['guard'],
  },
  { name: 'live', holds: ['live/**'], sees: ['guard', 'views'] },
  { name: 'api', holds: ['api/**'], sees: ['guard', 'views', 'live'] },
  { name: 'options', holds: ['dashboard-options.ts'], sees: ['guard'] },
  {
    name: 'handler',
    holds: ['dashboard.ts'],
    sees: ['guard', 'static', 'views', 'live', 'api', 'options'],
  },
  { name: 'serve', holds: ['serve/**'], sees: ['guard', 'options', 'handler'] },
  { name: 'front door', holds: ['index.ts'], sees: ['guard', 'options', 'handler', 'serve'] },
]

/** `testing` sees all zones, and no zone sees it. */
const testing = 'testing/**'

/** The text of source files by their path within `src`, with forward slashes. */
export type SourceFiles = Readonly<Record<string, string>>

/** What the source of a package may import: its own files by their zones, and other packages by name. */
export interface ImportRule {
  readonly zones: readonly Zone[]
  /** The package's `package.json` names the same. */
  readonly imports: readonly string[]
  /** The files that load modules of the user, whose names only the user knows. */
  readonly loaders?: readonly string[]
}

/** Returns every import that breaks the rule, in words; empty if there is none. */
export function brokenImports(files: SourceFiles, rule: ImportRule): readonly string[] {
  const homeless = Object.keys(files)
    .filter((file) => !isTesting(file) && !zoneOf(file, rule))
    .map((file) => `${file} belongs to no zone: give it one in the table of the dependency rule`)

  const forbidden = Object.entries(files).flatMap(([file, text]) =>
    readImports(file, text).flatMap(({ specifier, line }) => {
      const reason = reasonAgainst(file, specifier, rule)
      return reason === undefined
        ? []
        : [`${file}:${line} imports ${specifier ?? 'a computed name'}: ${reason}`]
    }),
  )
  return [...homeless, ...forbidden, ...importCycles(files)]
}

function reasonAgainst(file: string, specifier: string | undefined, rule: ImportRule): string | undefined {
  if (specifier === undefined) {
    return rule.loaders?.includes(file)
      ? undefined
      : 'an import has to be readable, so name the module by a literal'
  }
  if (specifier.startsWith('node:')) return undefined
  if (!specifier.startsWith('.')) return reasonAgainstPackage(specifier, rule)

  const target = targetOf(file, specifier)
  if (target.startsWith('../')) return 'it is outside of src'
  if (isTesting(file)) return undefined
  if (isTesting(target)) return 'only testing sees testing'

  const from = zoneOf(file, rule)
  const to = zoneOf(target, rule)
  if (!from || !to) return undefined
  if (from === to) {
    const sameAdapter = adapterOf(file) === adapterOf(target)
    return from.adapters && !sameAdapter ? 'adapters do not import each other' : undefined
  }
  if (from.sees.includes(to.name)) return undefined
  return `${from.name} sees ${from.sees.join(', ') || 'only itself'}, not ${to.name}`
}

function reasonAgainstPackage(specifier: string, { imports }: ImportRule): string | undefined {
  if (imports.includes(packageOf(specifier))) return undefined
  return `its package uses ${[...imports, 'relative files'].join(', ')} and node: modules only`
}

/** Returns the cycles of imports that exist when the program runs, each once. */
function importCycles(files: SourceFiles): readonly string[] {
  const cycles: string[] = []
  const done = new Set<string>()

  const visit = (file: string, trail: readonly string[]): void => {
    const start = trail.indexOf(file)
    if (start >= 0) {
      cycles.push(`${[...trail.slice(start), file].join(' -> ')} is a cycle: these files load each other`)
      return
    }
    if (done.has(file)) return

    for (const target of valueImports(file, files)) visit(target, [...trail, file])
    done.add(file)
  }
  for (const file of Object.keys(files)) visit(file, [])
  return cycles
}

function valueImports(file: string, files: SourceFiles): readonly string[] {
  return readImports(file, files[file]!)
    .filter(({ specifier, typeOnly }) => !typeOnly && specifier?.startsWith('.'))
    .map(({ specifier }) => targetOf(file, specifier!))
    .filter((target) => target in files)
}

function targetOf(file: string, specifier: string): string {
  return posix.join(posix.dirname(file), specifier)
}

function zoneOf(file: string, { zones }: ImportRule): Zone | undefined {
  return zones.find((zone) => zone.holds.some((pattern) => matchesGlob(file, pattern)))
}

function isTesting(file: string): boolean {
  return matchesGlob(file, testing)
}

/** Returns `publishers/kafka` for `publishers/kafka.ts` and for all files in `publishers/kafka/`. */
function adapterOf(file: string): string {
  return file.split('/').slice(0, 2).join('/').replace(/\.ts$/, '')
}

/** The parts of `packages/sendoff/src` that a simulation cannot replace. They use the time and chance of the machine. */
const outsideSimulation = [
  'stores/**',
  'publishers/**',
  'consumers/**',
  'transactions/**',
  'mail/**',
  'admin/**',
  'testing/**',
  '*.ts',
]

/** Files that name a source of time or chance as a default that callers replace. */
const withDefaults = [
  'event/event-envelope.ts',
  'event/ulid.ts',
  'outbox/outbox-core.ts',
  'retry/{exponential-backoff,fixed-delay,linear-backoff,retry-policy,retry-schedule}.ts',
  'dispatch/dispatcher-options.ts',
]

const sourcesOfTimeOrChance =
  /\b(?:setImmediate|setTimeout|setInterval|queueMicrotask|nextTick|performance\.now|Date\.now|Math\.random|randomBytes|randomUUID|randomInt|node:timers)\b/

/**
 * Returns every line of the engine that takes time or chance from the machine instead of from its options. A
 * simulation could not repeat such a line.
 */
export function bypassedClocks(files: SourceFiles): readonly string[] {
  return Object.entries(files)
    .filter(
      ([file]) => ![...outsideSimulation, ...withDefaults].some((pattern) => matchesGlob(file, pattern)),
    )
    .flatMap(([file, text]) =>
      text.split('\n').flatMap((line, index) => {
        const [source] = sourcesOfTimeOrChance.exec(line.replace(/^\s*(?:\/\/|\*|\/\*).*/, '')) ?? []
        return source === undefined
          ? []
          : [`${file}:${index + 1} uses ${source}: take it from the clock or an option`]
      }),
    )
}
