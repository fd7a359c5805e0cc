import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { packRelease } from './pack-release.ts'
import { prepareRelease, releaseFaults } from './prepare-release.ts'

/**
 * Makes a release: sets the version, packs and checks every package, commits, and tags. It publishes nothing, but
 * prints the commands that do.
 *
 *     npm run release -- 0.2.0 --dry-run
 *
 * A dry run does all of it in a temporary clone of the last commit, and leaves nothing behind.
 */
const project = join(import.meta.dirname, '..')
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'dry-run': { type: 'boolean', default: false } },
})
const [version = ''] = positionals
process.exitCode = release(version, values['dry-run'])

function release(version: string, isDry: boolean): number {
  const faults = [...releaseFaults(project, version), ...(isDry ? [] : repositoryFaults(version))]
  if (faults.length > 0) {
    print(['Nothing was released.', ...faults])
    return 1
  }
  const root = isDry ? cloneOf(project) : project
  try {
    prepareRelease(root, version, new Date().toISOString().slice(0, 10))
    const tarballs = packRelease(root, version, join(root, 'tarballs'))
    git(root, 'commit', '--all', '--quiet', '--message', `Release ${version}`)
    git(root, 'tag', '--annotate', `v${version}`, '--message', `Release ${version}`)
    print([
      isDry ? `A dry run of ${version}: nothing was changed here.` : `${version} is committed and tagged.`,
      ...git(root, 'show', '--stat', '--format=', `v${version}`).trim().split('\n').slice(1),
      ...tarballs.map((path) => `packed ${basename(path)}`),
      'To publish:',
      ...tarballs.map((path) => `  npm publish ${isDry ? basename(path) : path} --access public`),
      `  git push --follow-tags`,
    ])
    return 0
  } finally {
    if (isDry) rmSync(root, { recursive: true, force: true })
  }
}

function repositoryFaults(version: string): readonly string[] {
  return [
    ...(git(project, 'status', '--porcelain') === '' ? [] : ['There are changes that are not committed.']),
    ...(git(project, 'tag', '--list', `v${version}`) === '' ? [] : [`The tag v${version} exists.`]),
  ]
}

/** Returns a clone that has the dependencies of the project, and its author if git knows none. */
function cloneOf(from: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'sendoff-release-'))
  git(from, 'clone', '--quiet', '--no-hardlinks', from, folder)
  git(folder, 'config', 'user.name', 'dry run')
  git(folder, 'config', 'user.email', 'dry-run@localhost')
  symlinkSync(join(from, 'node_modules'), join(folder, 'node_modules'))
  for (const nested of globSync('packages/*/node_modules', { cwd: from })) {
    symlinkSync(join(from, nested), join(folder, nested))
  }
  return folder
}

function git(cwd: string, ...args: readonly string[]): string {
  return execFileSync('git', args, { cwd, encoding: 'utf8' })
}

function print(lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`)
}
