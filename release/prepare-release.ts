import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Gives all packages of the project in `root` a new version, everywhere it is written: in their manifests, in the
 * ranges by which they need each other, in the lockfile, in the code and in the description of the HTTP API. The
 * entries of the changelog under "Unreleased" become those of the version.
 */
export function prepareRelease(root: string, version: string, date: string): void {
  const manifests = globSync('packages/*/package.json', { cwd: root })
  const names = manifests.map((file) => (readJson(root, file) as Manifest).name)
  for (const file of manifests) {
    changeJson(root, file, (manifest) => withVersion(manifest as Manifest, version, names))
  }
  changeJson(root, 'package-lock.json', (lockfile) => {
    const { packages } = lockfile as { packages: Record<string, Manifest> }
    for (const file of manifests) withVersion(packages[file.replace('/package.json', '')]!, version, names)
  })
  // As a text, because its arrays are formatted.
  change(root, 'packages/dashboard/openapi.json', (text) =>
    replaceOnce(text, /(?<="info": \{[^}]*?"version": ")[^"]+/, version),
  )
  change(root, 'packages/sendoff/src/version.ts', (code) =>
    replaceOnce(code, /(?<=sendoffVersion = ')[^']+/, version),
  )
  change(root, 'CHANGELOG.md', (text) =>
    replaceOnce(text, /(?<=^## Unreleased\n)/m, `\n## ${version} - ${date}\n`),
  )
}

/** Returns what keeps a version from being released, in words; empty if nothing does. */
export function releaseFaults(root: string, version: string): readonly string[] {
  const { version: current } = readJson(root, 'packages/sendoff/package.json') as Manifest
  const unreleased = /^## Unreleased\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(read(root, 'CHANGELOG.md'))?.[1]
  return [
    ...(/^\d+\.\d+\.\d+(-[a-z]+\.\d+)?$/.test(version) ? [] : [`"${version}" is no version, such as 0.2.0.`]),
    ...(isLater(version, current)
      ? []
      : [`${version} does not come after ${current}, the version of the packages.`]),
    ...(unreleased?.includes('\n- ') ? [] : ['CHANGELOG.md has no entry under "Unreleased".']),
  ]
}

interface Manifest {
  name: string
  version: string
  dependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
}

function withVersion(manifest: Manifest, version: string, names: readonly string[]): void {
  manifest.version = version
  for (const needed of [manifest.dependencies ?? {}, manifest.peerDependencies ?? {}]) {
    for (const name of Object.keys(needed).filter((each) => names.includes(each)))
      needed[name] = `^${version}`
  }
}

/** Compares the numbers of two versions. A version comes after its own previews. */
function isLater(version: string, current: string): boolean {
  const [numbers, preview = '~'] = split(version)
  const [currentNumbers, currentPreview = '~'] = split(current)
  const place = numbers.findIndex((number, index) => number !== currentNumbers[index])
  if (place >= 0) return numbers[place]! > (currentNumbers[place] ?? 0)
  return preview > currentPreview
}

function split(version: string): readonly [numbers: readonly number[], preview: string | undefined] {
  const [numbers = '', preview] = version.split('-')
  return [numbers.split('.').map(Number), preview]
}

function replaceOnce(text: string, pattern: RegExp, replacement: string): string {
  if (!pattern.test(text)) throw new Error(`Nothing matches ${pattern}.`)
  return text.replace(pattern, replacement)
}

function changeJson(root: string, file: string, edit: (value: unknown) => void): void {
  change(root, file, (text) => {
    const value: unknown = JSON.parse(text)
    edit(value)
    return `${JSON.stringify(value, undefined, 2)}\n`
  })
}

function change(root: string, file: string, edit: (text: string) => string): void {
  writeFileSync(join(root, file), edit(read(root, file)))
}

function readJson(root: string, file: string): unknown {
  return JSON.parse(read(root, file))
}

function read(root: string, file: string): string {
  return readFileSync(join(root, file), 'utf8')
}
