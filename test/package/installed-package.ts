import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { npm } from './npm.ts'
import { packPackage } from './packed-package.ts'

const root = join(import.meta.dirname, '../..')

/** The part of `package.json` that is judged here. */
export interface Manifest {
  readonly engines: { readonly node: string }
  readonly sideEffects: boolean
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly [field: string]: unknown
}

/** The packed library, installed by npm into empty projects: an ESM one and a CommonJS one. */
export class InstalledPackage {
  readonly projects: Readonly<Record<'module' | 'commonjs', string>>
  readonly remove: () => void

  private constructor(projects: InstalledPackage['projects'], remove: () => void) {
    this.projects = projects
    this.remove = remove
  }

  static async create(): Promise<InstalledPackage> {
    const { tarball, folder } = await packPackage()
    const [module, commonjs] = await Promise.all(
      ['module', 'commonjs'].map((type) => newProject(join(folder.path, 'projects', type), type, tarball)),
    )
    return new InstalledPackage({ module: module!, commonjs: commonjs! }, () => folder.remove())
  }

  /** Where the package is installed. */
  get folder(): string {
    return join(this.projects.module, 'node_modules/sendoff')
  }

  get manifest(): Manifest {
    return JSON.parse(readFileSync(join(this.folder, 'package.json'), 'utf8')) as Manifest
  }

  /** What code may be imported as, as in `sendoff/memory`. */
  get specifiers(): readonly string[] {
    return Object.keys(this.manifest.exports)
      .filter((subpath) => subpath !== './package.json')
      .map((subpath) => `sendoff${subpath.slice(1)}`)
  }

  /** The files of the package, sorted, with forward slashes. */
  files(): readonly string[] {
    return readdirSync(this.folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(this.folder, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
      .sort()
  }

  read(file: string): string {
    return readFileSync(join(this.folder, file), 'utf8')
  }
}

async function newProject(folder: string, type: string, tarball: string): Promise<string> {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'empty', private: true, type }))
  await npm(folder, ['install', '--offline', tarball])

  // What the examples of the documentation use besides.
  for (const name of ['zod', '@types']) {
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  }
  return folder
}
