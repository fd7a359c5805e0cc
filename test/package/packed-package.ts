import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { oncePerRun } from '../services/machine/run-folder.ts'
import { projectRoot, readPackages, withDependencies } from '../workspace.ts'
import { npm } from './npm.ts'

/**
 * Packs a package as its publisher does, from a copy of the project. So it touches neither the build that
 * other tests read nor the folder of the package. Returns the paths of tarballs, by name: those of the package
 * and of the packages of the project that it needs, as they would be published. Also those of the packages
 * that npm would fetch with them. A test run packs each package once.
 */
export async function packPackage(name: string): Promise<Readonly<Record<string, string>>> {
  const project = await oncePerRun('project', copyProject)
  const tarballs: Record<string, string> = {}
  for (const each of withDependencies(name, readPackages())) {
    tarballs[each.name] = await packOnce(each.name, (destination) =>
      packFolder(join(project, each.folder), destination),
    )
    for (const foreign of foreignDependencies(join(projectRoot, each.folder))) {
      tarballs[foreign] = await packOnce(foreign, (destination) =>
        // Packs an installed package again, so that no registry is needed to install it elsewhere.
        pack(installedFolder(foreign, each.folder), destination, ['--ignore-scripts']),
      )
    }
  }
  return tarballs
}

async function packOnce(name: string, make: (destination: string) => Promise<void>): Promise<string> {
  const destination = await oncePerRun(`packed-${name}`, make)
  const [tarball] = readdirSync(destination)
  if (tarball === undefined) throw new Error(`npm pack made no tarball of ${name}`)
  return join(destination, tarball)
}

/** Returns the packages that npm installs with this one. None of them needs others. */
function foreignDependencies(folder: string): readonly string[] {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { dependencies?: object }
  const own = readPackages().map(({ name }) => name)
  return Object.keys(manifest.dependencies ?? {}).filter((name) => !own.includes(name))
}

async function copyProject(folder: string): Promise<void> {
  const settings = readdirSync(projectRoot).filter((name) => /^(package|tsconfig.*)\.json$/.test(name))
  for (const file of [...settings, 'LICENSE', 'docs', ...projectPages()]) {
    cpSync(join(projectRoot, file), join(folder, file), { recursive: true })
  }
  symlinkSync(join(projectRoot, 'node_modules'), join(folder, 'node_modules'))
  cpSync(join(projectRoot, 'packages'), join(folder, 'packages'), {
    recursive: true,
    filter: (path) => !['dist', 'node_modules'].includes(basename(path)),
  })
  // Versions that differ from those of the project.
  for (const { folder: own } of readPackages()) {
    const modules = join(projectRoot, own, 'node_modules')
    if (existsSync(modules)) symlinkSync(modules, join(folder, own, 'node_modules'))
  }
}

async function packFolder(folder: string, destination: string): Promise<void> {
  // Stands for a file that an earlier build has left of a deleted module.
  mkdirSync(join(folder, 'dist'), { recursive: true })
  writeFileSync(join(folder, 'dist/gone.js'), '')
  await pack(folder, destination)
}

function pack(folder: string, destination: string, options: readonly string[] = []): Promise<void> {
  return npm(folder, ['pack', ...options, '--pack-destination', destination])
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
