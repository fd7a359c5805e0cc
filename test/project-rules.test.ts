import { deepEqual, equal } from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, join, sep } from 'node:path'
import { describe, it } from 'node:test'

const root = join(import.meta.dirname, '..')

describe('the project', () => {
  const files = projectFiles()
  const sources = files.filter((file) => /^packages\/[^/]+\/src\//.test(file))

  it('has files to judge', () => {
    equal(sources.length > 0 && files.length > sources.length, true)
  })

  it('names its TypeScript files in kebab-case', () => {
    const isKebab = (file: string) =>
      /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)*$/.test(basename(file))
    deepEqual(
      files.filter((file) => file.endsWith('.ts') && !isKebab(file)),
      [],
    )
  })

  it('names a source file after what it holds, not after a kind of thing', () => {
    const vague = ['types.ts', 'utils.ts', 'helpers.ts', 'constants.ts']
    deepEqual(
      sources.filter((file) => vague.includes(basename(file))),
      [],
    )
  })

  it('exports by name', () => {
    deepEqual(linesWith(sources, /^\s*export\s+default\b|\bas\s+default\b/), [])
  })

  it('has no package registry in its files', () => {
    const registries = /\bregistry\.(?:npmjs|yarnpkg|npmmirror)\b|\bnpm\.pkg\.github\b|"resolved": "https?:/
    deepEqual(linesWith(files, registries), [])

    const configured = process.env['npm_config_registry']
    const host = configured === undefined ? undefined : new URL(configured).host
    if (host) deepEqual(linesWith(files, new RegExp(host.replaceAll('.', '\\.'))), [])
  })

  it('has no path of a machine in its files', () => {
    deepEqual(linesWith(files, /(?<![\w.~-])\/(?:work|root)\//), [])
  })
})

/** Returns the files that git tracks or would track: the folder without ignored files. */
function projectFiles(): readonly string[] {
  const listed = gitFiles() ?? allFiles()
  return listed.filter((file) => existsSync(join(root, file)))
}

function gitFiles(): readonly string[] | undefined {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', '-z']
  try {
    const output = execFileSync('git', args, {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return output.split('\0').filter((file) => file !== '')
  } catch {
    return undefined
  }
}

// Works without git, as in an unpacked archive.
function allFiles(): readonly string[] {
  const ignored = new Set(['.git', 'node_modules', 'dist', 'coverage'])
  const entries = globSync('**/*', {
    cwd: root,
    withFileTypes: true,
    exclude: (entry) => ignored.has(entry.name),
  })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .map((file) => file.replaceAll(sep, '/'))
}

function linesWith(files: readonly string[], pattern: RegExp): readonly string[] {
  return files.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    // A zero byte means that this is not a text.
    if (text.includes('\0')) return []
    return text
      .split('\n')
      .flatMap((line, index) => (pattern.test(line) ? [`${file}:${index + 1} ${line.trim()}`] : []))
  })
}
