import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

/** A folder in `packages/`, and its own description. */
export interface WorkspacePackage {
  readonly name: string
  /** Path within the project, such as `packages/sendoff`. */
  readonly folder: string
  /** The packages that its code needs, by name. */
  readonly dependencies: readonly string[]
  /** The folders of the packages that are built before it; undefined if it is not built at all. */
  readonly references: readonly string[] | undefined
}

export const projectRoot = join(import.meta.dirname, '..')

/** Returns every package of the project in `root`, by the name of its folder. */
export function readPackages(root = projectRoot): readonly WorkspacePackage[] {
  return readdirSync(join(root, 'packages'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => readPackage(root, `packages/${entry.name}`))
    .sort((one, other) => (one.folder < other.folder ? -1 : 1))
}

/** Returns a package and all packages of the project that it needs, these first. */
export function withDependencies(
  name: string,
  packages: readonly WorkspacePackage[],
): readonly WorkspacePackage[] {
  const found = packages.find((each) => each.name === name)
  if (found === undefined) return []
  const needed = found.dependencies.flatMap((each) => withDependencies(each, packages))
  return [...new Set([...needed, found])]
}

/** Returns what keeps a package outside of the checks, in words; empty if all are inside. */
export function packageFaults(
  packages: readonly WorkspacePackage[],
  rules: Readonly<Record<string, { readonly imports: readonly string[] }>>,
): readonly string[] {
  const names = packages.map(({ name }) => name)
  const gone = Object.keys(rules).filter((name) => !names.includes(name))
  return [
    ...packages.flatMap((each) => faultsOf(each, packages, rules[each.name]?.imports)),
    ...gone.map((name) => `${name} has a rule in test/package-rules.ts, but is in no folder of packages/`),
  ]
}

function faultsOf(
  { name, folder, dependencies, references }: WorkspacePackage,
  packages: readonly WorkspacePackage[],
  imports: readonly string[] | undefined,
): readonly string[] {
  if (imports === undefined) return [`${folder} has no rule: give ${name} one in test/package-rules.ts`]
  if (references === undefined) return [`${folder} is not built: it has no tsconfig.build.json`]

  const needed = packages.filter((each) => dependencies.includes(each.name)).map((each) => each.folder)
  return [
    ...difference(dependencies, imports, `${folder} depends on`, 'which its rule does not let it import'),
    ...difference(imports, dependencies, `${folder} may import`, 'which its package.json does not name'),
    ...difference(needed, references, `${folder} needs`, 'which its tsconfig.build.json does not refer to'),
  ]
}

function difference(
  some: readonly string[],
  others: readonly string[],
  does: string,
  but: string,
): readonly string[] {
  return some.filter((each) => !others.includes(each)).map((each) => `${does} ${each}, ${but}`)
}

function readPackage(root: string, folder: string): WorkspacePackage {
  const manifest = readJson(join(root, folder, 'package.json')) ?? {}
  const { name = folder, dependencies = {}, peerDependencies = {} } = manifest as PackageJson
  const build = readJson(join(root, folder, 'tsconfig.build.json')) as BuildSettings | undefined
  return {
    name,
    folder,
    dependencies: Object.keys({ ...dependencies, ...peerDependencies }),
    references: build && (build.references ?? []).map(({ path }) => referredFolder(folder, path)),
  }
}

interface PackageJson {
  readonly name?: string
  readonly dependencies?: object
  readonly peerDependencies?: object
}

interface BuildSettings {
  readonly references?: readonly { readonly path: string }[]
}

/** Returns `packages/sendoff` for `../sendoff/tsconfig.build.json` in another package. */
function referredFolder(folder: string, path: string): string {
  return posix.dirname(posix.join(folder, path))
}

function readJson(file: string): unknown {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}
