import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type TemporaryFolder, temporaryFolder } from '../services/machine/temporary-folder.ts'
import { projectRoot, readPackages, withDependencies } from '../workspace.ts'
import { npm } from './npm.ts'

export interface PackedPackage {
  /**
   * The paths of tarballs, by name: those of the package and of the packages of the project that it needs, as
   * they would be published. Also those of the packages that npm would fetch with them.
   */
  readonly tarballs: Readonly<Record<string, string>>
  /** An empty folder to install them in. */
  readonly folder: TemporaryFolder
}

/**
 * Packs a package as its publisher does, from a copy of the project. So it touches neither the build that
 * other tests read nor the folder of the package. A process packs each package once.
 */
export async function packPackage(name: string): Promise<PackedPackage> {
  const tarballs: Record<string, string> = {}
  for (const each of withDependencies(name, readPackages())) {
    tarballs[each.name] = await packedOnce(each.name, (copy) => packFolder(join(copy, each.folder)))
    for (const foreign of foreignDependencies(join(projectRoot, each.folder))) {
      tarballs[foreign] = await packedOnce(foreign, (copy) => packForeign(foreign, each.folder, copy))
    }
  }
  return { tarballs, folder: temporaryFolder('installed') }
}

let project: TemporaryFolder | undefined
const packed = new Map<string, Promise<string>>()

function packedOnce(name: string, pack: (copy: string) => Promise<string>): Promise<string> {
  project ??= copyProject()
  const tarball = packed.get(name) ?? pack(project.path)
  packed.set(name, tarball)
  return tarball
}

/** Returns the packages that npm installs with this one. None of them needs others. */
function foreignDependencies(folder: string): readonly string[] {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { dependencies?: object }
  const own = readPackages().map(({ name }) => name)
  return Object.keys(manifest.dependencies ?? {}).filter((name) => !own.includes(name))
}

/** Packs an installed package again, so that no registry is needed to install it elsewhere. */
async function packForeign(name: string, neededBy: string, folder: string): Promise<string> {
  const destination = join(folder, 'tarballs', `foreign-${basename(name)}`)
  mkdirSync(destination, { recursive: true })
  const installed = installedFolder(name, neededBy)
  await npm(folder, ['pack', '--ignore-scripts', '--pack-destination', destination, installed])
  return join(destination, readdirSync(destination)[0]!)
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
  // Versions that differ from those of the project.
  for (const { folder: own } of readPackages()) {
    const modules = join(projectRoot, own, 'node_modules')
    if (existsSync(modules)) symlinkSync(modules, join(folder.path, own, 'node_modules'))
  }
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

/** Returns the folder of an installed package, as the code in one of the project's packages finds it. */
export function installedFolder(name: string, neededBy: string): string {
  const own = join(projectRoot, neededBy, 'node_modules', name)
  return existsSync(own) ? own : join(projectRoot, 'node_modules', name)
}

/** Returns the pages at the top of the project. */
export function projectPages(): readonly string[] {
  return readdirSync(projectRoot).filter((name) => name.endsWith('.md'))
}
