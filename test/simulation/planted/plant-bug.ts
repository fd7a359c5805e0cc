import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { temporaryFolder } from '../../services/machine/temporary-folder.ts'

/** The root of the repository. */
export const root = join(import.meta.dirname, '../../..')

/** The folder of the patches, relative to the root. */
export const patchFolder = 'test/simulation/planted'

/** What the simulation needs, relative to the root. */
const needed = [
  ...['package.json', 'tsconfig.json', 'tsconfig.base.json', 'tsconfig.package.json'],
  ...[
    'packages/sendoff/package.json',
    'packages/sendoff/src',
    'test/faults',
    'test/simulation',
    'test/services',
  ],
]

/** A copy of the sources with a bug in it. */
export interface PlantedTree {
  readonly path: string
  remove(): void
}

/** Copies the sources out of the repository, and applies a patch to the copy. Throws if it does not apply. */
export function plantBug(file: string): PlantedTree {
  const folder = temporaryFolder('planted')
  try {
    for (const path of needed) {
      mkdirSync(dirname(join(folder.path, path)), { recursive: true })
      cpSync(join(root, path), join(folder.path, path), { recursive: true })
    }
    symlinkSync(join(root, 'node_modules'), join(folder.path, 'node_modules'), 'dir')
    applyPatch(file, folder.path)
    return folder
  } catch (error) {
    folder.remove()
    throw error
  }
}

/** Applies a patch to a tree, or with `--check` only tries it. Throws if it does not apply. */
export function applyPatch(file: string, tree: string, ...flags: readonly '--check'[]): void {
  const patch = join(root, patchFolder, file)
  // In a subfolder of a repository, git would skip the files of the patch without a word.
  const env = { ...process.env, GIT_CEILING_DIRECTORIES: dirname(tree) }
  const { status, stderr, error } = spawnSync('git', ['apply', ...flags, patch], {
    cwd: tree,
    env,
    encoding: 'utf8',
  })
  if (error !== undefined) throw error
  if (status !== 0) {
    throw new Error(`${file} does not apply any more. Make the patch again for the code of today.\n${stderr}`)
  }
}
