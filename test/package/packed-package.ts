import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type TemporaryFolder, temporaryFolder } from '../services/machine/temporary-folder.ts'
import { npm } from './npm.ts'

const root = join(import.meta.dirname, '../..')

export interface PackedPackage {
  /** The path of the tarball that would be published. */
  readonly tarball: string
  readonly folder: TemporaryFolder
}

/**
 * Packs the library as its publisher does, from a copy of the project, so that neither the build that
 * other tests read nor the folder of the library is touched.
 */
export async function packPackage(): Promise<PackedPackage> {
  const folder = temporaryFolder('package')
  for (const file of ['package.json', 'tsconfig.base.json', 'LICENSE', 'docs', ...projectPages()]) {
    cpSync(join(root, file), join(folder.path, file), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(folder.path, 'node_modules'))

  const library = join(folder.path, 'packages/sendoff')
  cpSync(join(root, 'packages/sendoff'), library, {
    recursive: true,
    filter: (path) => !['dist', 'node_modules'].includes(basename(path)),
  })
  // What an earlier build has left of a module that is gone by now.
  mkdirSync(join(library, 'dist'))
  writeFileSync(join(library, 'dist/gone.js'), '')

  await npm(library, ['pack', '--pack-destination', folder.path])
  const tarball = readdirSync(folder.path).find((name) => name.endsWith('.tgz'))
  if (tarball === undefined) throw new Error('npm pack made no tarball')
  return { tarball: join(folder.path, tarball), folder }
}

/** The pages at the top of the project. */
export function projectPages(): readonly string[] {
  return readdirSync(root).filter((name) => name.endsWith('.md'))
}
