import { deepEqual, doesNotMatch, equal, fail, match, ok } from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import ts from 'typescript'
import { packageRules } from '../package-rules.ts'
import { temporaryFolder } from '../services/machine/temporary-folder.ts'
import { readPackages } from '../workspace.ts'
import { bundle } from './bundle.ts'
import { InstalledPackage } from './installed-package.ts'
import { changesByLoading } from './loaded-alone.ts'

const isFull = process.env['SENDOFF_TEST_SCALE'] === 'full'
const engine =
  /\b(OutboxDispatcher|OutboxPoller|OutboxWriter|LeaseKeeper|OutboxPurgeScheduler|OutboxEngine)\b/

for (const { name } of readPackages()) {
  describe(`the package ${name} in a bundle`, () => judgeBundles(name))
}

function judgeBundles(name: string): void {
  const { bundleLimit } = packageRules[name]!
  let installed: InstalledPackage
  let modules: readonly string[]
  before(async () => {
    installed = await InstalledPackage.create(name)
    // A program is not a module to be bundled: it acts when it is loaded.
    const programs = Object.values(installed.manifest.bin ?? {}).map((path) => posix.normalize(path))
    // Nor is the script of a page, which is for browsers.
    modules = installed
      .files()
      .filter((file) => /^dist\/(?!page\/).*\.js$/.test(file) && !programs.includes(file))
  })

  it(`is small: its core, without comments, is under ${bundleLimit / 1000} kB compressed`, async (test) => {
    const core = withoutComments(await bundle(installed, `export * from '${name}'`))

    const size = gzipSync(core).length
    test.diagnostic(`the core has ${core.length} bytes, ${size} compressed`)
    ok(size < bundleLimit, `the core has ${size} bytes compressed; the limit is ${bundleLimit}`)
  })

  if (name === 'sendoff') {
    it('leaves the engine out if only an event is defined', async (test) => {
      match(await bundle(installed, `export * from 'sendoff'`), engine)
      const part = withoutComments(await bundle(installed, `export { defineEvent } from 'sendoff'`))
      match(part, /\bfunction defineEvent\b/)
      doesNotMatch(part, engine)

      const size = gzipSync(part).length
      test.diagnostic(`defineEvent alone has ${part.length} bytes, ${size} compressed`)
      ok(size < bundleLimit / 10, `defineEvent alone has ${size} bytes compressed`)
    })
  }

  it('is gone if nothing of it is used', async () => {
    const left = async (specifiers: readonly string[]) =>
      (await bundle(installed, specifiers.map((each) => `import '${each}'`).join('\n'))).trim()
    const { specifiers } = installed
    // One bundle of all reads each module once. If something is left, one bundle for each tells of which.
    if ((await left(specifiers)) === '') return
    for (const specifier of specifiers) equal(await left([specifier]), '', specifier)
    fail('something is left of all together')
  })

  it('has a true sideEffects: its modules declare, and do nothing else', () => {
    equal(installed.manifest.sideEffects, false)
    deepEqual(
      modules.flatMap((file) => doings(file, installed.read(file))),
      [],
    )
  })

  it('has a true sideEffects: each module loads alone, at once, and changes nothing else', async () => {
    const changed: string[] = []
    const peers = Object.keys(installed.manifest.peerDependencies ?? {})
    // Each needs a process of its own. Front doors load the rest.
    const waiting = isFull ? [...modules] : modules.filter((file) => file.endsWith('/index.js'))
    ok(waiting.length > 0)
    const loadNext = async (): Promise<void> => {
      for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
        const changes = await changesByLoading(join(installed.folder, file), 20_000, peers)
        changed.push(...changes.map((change) => `${file}: ${change}`))
      }
    }
    await Promise.all([loadNext(), loadNext()])
    deepEqual(changed, [])
  })
}

describe('a module that does more than declare', () => {
  const forged: readonly [code: string, change: RegExp][] = [
    ['globalThis.sendoff = 1', /global names/],
    ['Array.prototype.last = function () {}', /built-in prototypes/],
    [`process.on('exit', () => {})`, /listeners of the process/],
    [`process.env.SENDOFF = 'here'`, /environment variables/],
    [`console.log('hello')`, /prints hello/],
    ['await null', /ERR_REQUIRE_ASYNC_MODULE|top-level await/],
    [`throw new Error('no')`, /throws .*no/],
    ['setInterval(() => {}, 1_000)', /keeps its process running/],
  ]
  for (const [code, change] of forged) {
    it(`is found out: ${code}`, async () => {
      const folder = temporaryFolder('forged')
      const file = join(folder.path, 'forged.mjs')
      writeFileSync(file, `${code}\nexport {}\n`)

      match((await changesByLoading(file, 1_000)).join('\n'), change)
      equal(doings(file, code).length, 1)
      folder.remove()
    })
  }
})

/** Returns the statements at a module's top level that are not declarations, as `file:line`. */
function doings(file: string, code: string): readonly string[] {
  const source = ts.createSourceFile(file, code, ts.ScriptTarget.Latest, true)
  return source.statements
    .filter((statement) => !declares(statement))
    .map((node) => `${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`)
}

function declares(statement: ts.Statement): boolean {
  return (
    ts.isImportDeclaration(statement) ||
    ts.isExportDeclaration(statement) ||
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isVariableStatement(statement) ||
    // The name that the compiler gives to a class for use within itself.
    /^_[a-z] = [A-Z]\w+;?$/.test(statement.getText())
  )
}

// Bundlers of applications drop comments, and no comment should be missing because it makes the package larger.
function withoutComments(code: string): string {
  const compilerOptions = {
    removeComments: true,
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.ESNext,
  }
  return ts.transpileModule(code, { compilerOptions }).outputText
}
