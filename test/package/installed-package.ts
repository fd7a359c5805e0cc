import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { projectRoot } from '../workspace.ts'
import { npm } from './npm.ts'
import { packPackage, type PackedPackage } from './packed-package.ts'

/** The part of `package.json` that the tests judge. */
export interface Manifest {
  readonly engines: { readonly node: string }
  readonly sideEffects: boolean
  readonly peerDependencies?: Readonly<Record<string, string>>
  /** Programs, by name. */
  readonly bin?: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly [field: string]: unknown
}

/** A packed package of the project, installed by npm into empty projects: an ESM one and a CommonJS one. */
export class InstalledPackage {
  readonly name: string
  readonly projects: Readonly<Record<'module' | 'commonjs', string>>
  readonly remove: () => void

  private constructor(name: string, projects: InstalledPackage['projects'], remove: () => void) {
    this.name = name
    this.projects = projects
    this.remove = remove
  }

  static async create(name: string): Promise<InstalledPackage> {
    const { tarballs, folder } = await packPackage(name)
    const [module, commonjs] = await Promise.all(
      ['module', 'commonjs'].map((type) => newProject(join(folder.path, 'projects', type), type, tarballs)),
    )
    const installed = new InstalledPackage(name, { module: module!, commonjs: commonjs! }, () =>
      folder.remove(),
    )
    installed.#linkForeign()
    return installed
  }

  /** Folder in which the package is installed. */
  get folder(): string {
    return join(this.projects.module, 'node_modules', this.name)
  }

  get manifest(): Manifest {
    return JSON.parse(readFileSync(join(this.folder, 'package.json'), 'utf8')) as Manifest
  }

  /** Names that code may import, such as `sendoff/memory`. */
  get specifiers(): readonly string[] {
    return Object.keys(this.manifest.exports)
      .filter((subpath) => subpath !== './package.json')
      .map((subpath) => `${this.name}${subpath.slice(1)}`)
  }

  /** Returns the files of the package, sorted, with forward slashes. */
  files(): readonly string[] {
    return readdirSync(this.folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(this.folder, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
      .sort()
  }

  read(file: string): string {
    return readFileSync(join(this.folder, file), 'utf8')
  }

  /** Links the peers of the package, and the other packages that examples of the documentation use. */
  #linkForeign(): void {
    const names = new Set(['zod', '@types', ...Object.keys(this.manifest.peerDependencies ?? {})])
    for (const project of Object.values(this.projects)) {
      for (const name of names) linkFromProject(name, join(project, 'node_modules', name))
    }
  }
}

async function newProject(
  folder: string,
  type: string,
  tarballs: PackedPackage['tarballs'],
): Promise<string> {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'empty', private: true, type }))
  // Its peers are the project's own, and linked.
  await npm(folder, ['install', '--offline', '--legacy-peer-deps', ...Object.values(tarballs)])
  return folder
}

function linkFromProject(name: string, link: string): void {
  if (existsSync(link)) return
  mkdirSync(dirname(link), { recursive: true })
  symlinkSync(join(projectRoot, 'node_modules', name), link)
}
