import { deepEqual, equal, match } from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join, matchesGlob, posix, sep } from 'node:path'
import { before, describe, it } from 'node:test'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { packageRules } from '../package-rules.ts'
import { packageOf, readImports } from '../read-imports.ts'
import { projectRoot, readPackages } from '../workspace.ts'
import { InstalledPackage } from './installed-package.ts'
import { projectPages } from './packed-package.ts'
import { typeErrors, typeResolutions } from './type-resolution.ts'

for (const { name, folder } of readPackages()) {
  describe(`the package ${name}`, () => judgeContents(name, folder))
}

function judgeContents(name: string, folder: string): void {
  const { imports, loaders = [], hasProjectPages, assets = [] } = packageRules[name]!
  const library = join(projectRoot, folder)
  const sources = filesIn(library, 'src/**/*.{ts,cts}')
  const pageFolder = hasProjectPages ? projectRoot : library
  const pages = hasProjectPages
    ? [...projectPages(), ...filesIn(projectRoot, 'docs/**/*.*')]
    : filesIn(library, '*.md')

  let installed: InstalledPackage
  let files: readonly string[]
  before(async () => {
    installed = await InstalledPackage.create(name)
    files = installed.files()
  })

  it('holds its modules with their types, maps and sources, a licence, the pages, and nothing else', () => {
    const built = sources.flatMap(builtFiles)
    const others = files.filter((file) => assets.some((pattern) => matchesGlob(file, pattern)))
    equal(others.length >= assets.length, true, 'an asset is missing')
    deepEqual(files, ['LICENSE', 'package.json', ...pages, ...sources, ...built, ...others].sort())
  })

  it('shows the licence of the project, and its pages as they are', () => {
    equal(installed.read('LICENSE'), readFileSync(join(projectRoot, 'LICENSE'), 'utf8'))
    const isChanged = (page: string) => name === 'sendoff' && page === 'README.md' // links, see below
    for (const page of pages.filter((each) => !isChanged(each))) {
      equal(installed.read(page), readFileSync(join(pageFolder, page), 'utf8'))
    }
    equal(pages.includes('README.md'), true)
    const withoutLinks = (text: string) => text.replaceAll(/\]\([^)]+\)/g, '](…)')
    equal(
      withoutLinks(installed.read('README.md')),
      withoutLinks(readFileSync(join(pageFolder, 'README.md'), 'utf8')),
    )
  })

  it('has pages whose links lead to files of the package', () => {
    const dead = pages
      .filter((page) => page.endsWith('.md'))
      .flatMap((page) =>
        [...installed.read(page).matchAll(/\]\(([^)#\s]+)[^)]*\)/g)]
          .map(([, target = '']) => target)
          .filter((target) => !/^[a-z]+:/.test(target) && !files.includes(besides(page, target)))
          .map((target) => `${page} links to ${target}`),
      )
    deepEqual(dead, [])
  })

  it('says where it comes from, and what it is found by', () => {
    const { homepage, bugs, repository, keywords } = installed.manifest as unknown as {
      readonly homepage: string
      readonly bugs: string
      readonly repository: { readonly url: string; readonly directory: string }
      readonly keywords: readonly string[]
    }
    const [, address] = /^git\+(https:.+)\.git$/.exec(repository.url) ?? []
    deepEqual({ homepage, bugs }, { homepage: `${address}#readme`, bugs: `${address}/issues` })
    equal(repository.directory, folder)
    equal(keywords.includes('outbox pattern'), true)
  })

  it('has a readme whose links and pictures work on the page of a registry', () => {
    const links = [...installed.read('README.md').matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link)
    equal(links.length > 0, true)
    deepEqual(
      links.filter((link) => !/^https:|^#/.test(link)),
      [],
    )
  })

  it('has maps that lead from every built file to sources in the package', () => {
    const lost = files.filter(isCode).filter((file) => {
      const map = /^\/\/# sourceMappingURL=(.+)$/m.exec(installed.read(file))?.[1] ?? 'no map'
      const mapFile = besides(file, map)
      if (!files.includes(mapFile)) return true

      const { sources: origins } = JSON.parse(installed.read(mapFile)) as { sources: readonly string[] }
      return origins.length === 0 || !origins.every((origin) => files.includes(besides(mapFile, origin)))
    })
    deepEqual(lost, [])
  })

  it('depends on the packages of its rule, and imports them, its own files and node: modules only', () => {
    const dependencies = Object.entries(installed.manifest)
      .filter(([field]) => /dependencies$/i.test(field))
      .flatMap(([, named]) => Object.keys(named as object))
    deepEqual(dependencies.sort(), [...imports].sort())

    const foreign = files.filter(isCode).flatMap((file) =>
      readImports(file, installed.read(file))
        .filter(({ specifier }) => !loadsUserModules(file) && !mayImport(file, specifier))
        .map(({ specifier, line }) => `${file}:${line} imports ${specifier ?? 'a computed name'}`),
    )
    deepEqual(foreign, [])
  })

  it('exports only existing files', () => {
    const targets = Object.values(installed.manifest.exports).flatMap((target) =>
      typeof target === 'string' ? [target] : Object.values(target),
    )
    deepEqual(
      targets.filter((target) => !target.startsWith('./') || !files.includes(target.slice(2))),
      [],
    )
  })

  it('exports every front door of the source, under the name of its folder or file', () => {
    const doors = sources.flatMap(frontDoor)
    const { './package.json': own, ...subpaths } = installed.manifest.exports
    equal(own, './package.json')
    deepEqual(sortedByKey(subpaths), sortedByKey(Object.fromEntries(doors)))
  })

  it('has no fault that publint knows of', async () => {
    const { messages, pkg } = await publint({ pkgDir: installed.folder, pack: false, strict: true })
    deepEqual(
      messages.map((message) => formatMessage(message, pkg, { color: false })),
      [],
    )
  })

  it('names the oldest Node it runs on', () => {
    match(installed.manifest.engines.node, /^>=\d+\.\d+$/)
  })

  for (const resolution of typeResolutions) {
    it(`has types for all that it exports: ${resolution.name}`, () => {
      deepEqual(typeErrors(installed, resolution), [])
    })
  }

  function loadsUserModules(file: string): boolean {
    return loaders.some((loader) => file === `dist/${loader.replace(/\.ts$/, '.js')}`)
  }

  function mayImport(file: string, specifier: string | undefined): boolean {
    if (specifier === undefined) return false
    if (specifier.startsWith('node:')) return isBuiltin(specifier)
    if (imports.includes(packageOf(specifier))) return true
    // Declarations name their source in place of the emitted file.
    return specifier.startsWith('.') && files.includes(besides(file, specifier).replace(/\.ts$/, '.js'))
  }
}

/** Returns files, sorted, with forward slashes. */
function filesIn(folder: string, pattern: string): readonly string[] {
  return globSync(pattern, { cwd: folder })
    .map((file) => file.replaceAll(sep, '/'))
    .sort()
}

/** Returns what the compiler makes of a source: the module, its types, and their maps. */
function builtFiles(source: string): readonly string[] {
  const [, path, kind] = /^src(.*)\.(c?)ts$/.exec(source)!
  return ['', '.map'].flatMap((map) => [`dist${path}.d.${kind}ts${map}`, `dist${path}.${kind}js${map}`])
}

function isCode(file: string): boolean {
  return file.startsWith('dist/') && !file.startsWith('dist/page/') && /\.(c?js|d\.c?ts)$/.test(file)
}

function besides(file: string, path: string): string {
  return posix.join(posix.dirname(file), path)
}

/**
 * Returns the entry of `exports` for a source file. An `index.ts` is the front door of its folder. The parts,
 * and the transactions of each ORM, are one file each. Empty for every other file.
 */
function frontDoor(file: string): readonly [subpath: string, entry: object][] {
  const [, name] =
    /^src\/(?:(?:stores|publishers|observe)\/)?([^/]+)\/index\.ts$/.exec(file) ??
    /^src\/(consumers\/[^/]+)\/index\.ts$/.exec(file) ??
    /^src\/(parts|transactions\/[^/]+)\.ts$/.exec(file) ??
    (file === 'src/index.ts' ? ['', ''] : [])
  if (name === undefined) return []

  const target = `./dist${file.slice('src'.length, -'.ts'.length)}`
  return [[name === '' ? '.' : `./${name}`, { types: `${target}.d.ts`, default: `${target}.js` }]]
}

function sortedByKey<Value>(record: Readonly<Record<string, Value>>): readonly [string, Value][] {
  return Object.entries(record).sort(([one], [other]) => (one < other ? -1 : 1))
}
