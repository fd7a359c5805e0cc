import { execFileSync } from 'node:child_process'
import { globSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface PackedFile {
  readonly path: string
}

interface Manifest {
  readonly name: string
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

interface PackReport {
  readonly name: string
  readonly version: string
  readonly filename: string
  readonly files: readonly PackedFile[]
}

/**
 * Packs all packages of the project in `root`, as a publisher does, and checks what is in them. Each package comes
 * after those that it needs, so that users can install it as soon as it is published.
 */
export function packRelease(root: string, version: string, destination: string): readonly string[] {
  mkdirSync(destination, { recursive: true })
  return foldersInOrder(root).map((folder) => {
    const report = pack(folder, destination)
    const faults = faultsOf(report, version, folder)
    if (faults.length > 0) throw new Error(`${report.name} is not fit to be published: ${faults.join(' ')}`)
    return join(destination, report.filename)
  })
}

function foldersInOrder(root: string): readonly string[] {
  const packages = globSync('packages/*/package.json', { cwd: root })
    .toSorted()
    .map((file) => ({ folder: join(root, file, '..'), ...readManifest(join(root, file)) }))
  const names = packages.map(({ name }) => name)
  const ordered: string[] = []
  const add = (name: string): void => {
    if (ordered.includes(name)) return
    const { dependencies, peerDependencies } = packages.find((each) => each.name === name)!
    const needed = Object.keys({ ...dependencies, ...peerDependencies })
    needed.filter((each) => names.includes(each)).forEach(add)
    ordered.push(name)
  }
  names.forEach(add)
  return ordered.map((name) => packages.find((each) => each.name === name)!.folder)
}

function pack(folder: string, destination: string): PackReport {
  const output = execFileSync('npm', ['pack', '--json', '--pack-destination', destination], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 64 * 1024 * 1024,
  })
  // The scripts that npm runs before may print lines, too.
  const reports = JSON.parse(output.slice(output.search(/^[[{]/m))) as
    PackReport[] | Record<string, PackReport>
  return Object.values(reports)[0]!
}

function faultsOf(
  { version: packed, files }: PackReport,
  version: string,
  folder: string,
): readonly string[] {
  const paths = files.map(({ path }) => path)
  const { exports = {} } = readManifest(join(folder, 'package.json'))
  const exported = Object.values(exports).flatMap((each) =>
    typeof each === 'string' ? [each] : Object.values(each),
  )
  const needed = [
    'README.md',
    'LICENSE',
    'package.json',
    ...exported.map((path) => path.replace(/^\.\//, '')),
  ]
  return [
    ...(packed === version ? [] : [`Its version is ${packed}.`]),
    ...needed.filter((path) => !paths.includes(path)).map((path) => `${path} is missing.`),
    ...paths
      .filter((path) => /(?:^|\/)(?:test|node_modules)\/|\.env$/.test(path))
      .map((path) => `${path} is in it.`),
  ]
}

function readManifest(file: string): Manifest {
  return JSON.parse(readFileSync(file, 'utf8')) as Manifest
}
