import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { projectRoot } from '../workspace.ts'
import { oncePerRun } from '../services/machine/run-folder.ts'
import { npm } from './npm.ts'
import { packPackage } from './packed-package.ts'

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

/** A packed package of the project, as npm installs it into empty projects: an ESM one and a CommonJS one. */
export class InstalledPackage {
  readonly name: string
  readonly projects: Readonly<Record<'module' | 'commonjs', string>>

  private constructor(name: string, projects: InstalledPackage['projects']) {
    this.name = name
    this.projects = projects
  }

  /** Installs a package. The test files of a run share the projects: each adds only files of its own. */
  static async create(name: string): Promise<InstalledPackage> {
    const at = (folder: string) =>
      new InstalledPackage(name, { module: join(folder, 'module'), commonjs: join(folder, 'commonjs') })
    const folder = await oncePerRun(`installed-${name}`, async (folder) => {
      const tarballs = await packPackage(name)
      const installed = at(folder)
      const { module, commonjs } = installed.projects
      newProject(module, 'module')
      // Its peers are the project's own, and linked.
      await npm(module, ['install', '--offline', '--legacy-peer-deps', ...Object.values(tarballs)])
      // npm installs the same files whatever the type of the project is. It takes long: it unpacks a tarball
      // also to read its manifest.
      newProject(commonjs, 'commonjs')
      linkFiles(join(module, 'node_modules'), join(commonjs, 'node_modules'))
      installed.#linkForeign()
    })
    return at(folder)
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

function newProject(folder: string, type: string): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'empty', private: true, type }))
}

/** Makes a second folder of the same files. Their paths differ, so Node takes them for other modules. */
function linkFiles(from: string, to: string): void {
  mkdirSync(to)
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) linkFiles(source, target)
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target)
    else linkSync(source, target)
  }
}

function linkFromProject(name: string, link: string): void {
  if (existsSync(link)) return
  mkdirSync(dirname(link), { recursive: true })
  symlinkSync(join(projectRoot, 'node_modules', name), link)
}
