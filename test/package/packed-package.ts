import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type TemporaryFolder, temporaryFolder } from '../services/machine/temporary-folder.ts'
import { projectRoot, readPackages, withDependencies } from '../workspace.ts'
import { npm } from './npm.ts'

export interface PackedPackage {
  /**
   * The paths of the tarballs that would be published, by name: the package, and those of the project that it
   * needs.
   */
  readonly tarballs: Readonly<Record<string, string>>
  readonly folder: TemporaryFolder
}

/**
 * Packs a package as its publisher does, from a copy of the project. So it touches neither the build that
 * other tests read nor the folder of the package.
 */
export async function packPackage(name: string): Promise<PackedPackage> {
  const folder = copyProject()
  const tarballs: Record<string, string> = {}
  for (const each of withDependencies(name, readPackages())) {
    tarballs[each.name] = await packFolder(join(folder.path, each.folder))
  }
  return { tarballs, folder }
}

function copyProject(): TemporaryFolder {
  const folder = temporaryFolder('package')
  const settings = readdirSync(projectRoot).filter((name) => /^(package|tsconfig.*)\.json$/.test(name))
  for (const file of [...settings, 'LICENSE', 'docs', ...projectPages()]) {
    cpSync(join(projectRoot, file), join(folder.path, file), { recursive: true })
  }
  symlinkSync(join(projectRoot, 'node_modules'), join(folder.path, 'node_modules'))
  cpSync(join(projectRoot, 'packages'), join(folder.path, 'packages'), {
    recursive: true,
    filter: (path) => !['dist', 'node_modules'].includes(basename(path)),
  })
  return folder
}

async function packFolder(folder: string): Promise<string> {
  // Stands for a file that an earlier build has left of a deleted module.
  mkdirSync(join(folder, 'dist'), { recursive: true })
  writeFileSync(join(folder, 'dist/gone.js'), '')

  const destination = join(folder, '../..', 'tarballs', basename(folder))
  mkdirSync(destination, { recursive: true })
  await npm(folder, ['pack', '--pack-destination', destination])
  const [tarball] = readdirSync(destination)
  if (tarball === undefined) throw new Error(`npm pack made no tarball of ${folder}`)
  return join(destination, tarball)
}

/** Returns the pages at the top of the project. */
export function projectPages(): readonly string[] {
  return readdirSync(projectRoot).filter((name) => name.endsWith('.md'))
}
