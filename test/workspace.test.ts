import { deepEqual } from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { packageRules } from './package-rules.ts'
import { temporaryFolder } from './services/machine/temporary-folder.ts'
import { packageFaults, readPackages, withDependencies } from './workspace.ts'

const rules = { sendoff: { imports: [] }, cli: { imports: ['sendoff'] } }
const sendoff = { 'package.json': { name: 'sendoff' }, 'tsconfig.build.json': {} }
const cli = {
  'package.json': { name: 'cli', dependencies: { sendoff: '^0.1.0' } },
  'tsconfig.build.json': { references: [{ path: '../sendoff/tsconfig.build.json' }] },
}

describe('the packages of the project', () => {
  it('are all inside the checks', () => {
    deepEqual(packageFaults(readPackages(), packageRules), [])
  })

  it('come with the packages that they need, these first', () => {
    const packages = forge({ cli, sendoff })
    deepEqual(packageFaults(packages, rules), [])
    deepEqual(
      withDependencies('cli', packages).map(({ folder }) => folder),
      ['packages/sendoff', 'packages/cli'],
    )
  })

  const forged: readonly [what: string, folders: ForgedFolders, fault: string][] = [
    [
      'a package without a rule',
      { cli, sendoff, extra: { ...sendoff, 'package.json': { name: 'extra' } } },
      'packages/extra has no rule: give extra one in test/package-rules.ts',
    ],
    [
      'a folder without a package.json',
      { cli, sendoff, extra: {} },
      'packages/extra has no rule: give packages/extra one in test/package-rules.ts',
    ],
    [
      'a package that is not built',
      { cli, sendoff: { 'package.json': { name: 'sendoff' } } },
      'packages/sendoff is not built: it has no tsconfig.build.json',
    ],
    [
      'a package that is built too early',
      { cli: { ...cli, 'tsconfig.build.json': {} }, sendoff },
      'packages/cli needs packages/sendoff, which its tsconfig.build.json does not refer to',
    ],
    [
      'a dependency that no rule allows',
      { cli, sendoff: { ...sendoff, 'package.json': { name: 'sendoff', peerDependencies: { pg: '8' } } } },
      'packages/sendoff depends on pg, which its rule does not let it import',
    ],
    [
      'a dependency that the manifest leaves out',
      { cli: { ...cli, 'package.json': { name: 'cli' } }, sendoff },
      'packages/cli may import sendoff, which its package.json does not name',
    ],
    [
      'a rule for nothing',
      { sendoff },
      'cli has a rule in test/package-rules.ts, but is in no folder of packages/',
    ],
  ]
  for (const [what, folders, fault] of forged) {
    it(`do not pass with ${what}`, () => deepEqual(packageFaults(forge(folders), rules), [fault]))
  }
})

type ForgedFolders = Readonly<Record<string, Readonly<Record<string, object>>>>

/** Returns the packages of a project that has these folders, with these files in each. */
function forge(folders: ForgedFolders) {
  const root = temporaryFolder('workspace')
  for (const [folder, files] of Object.entries(folders)) {
    mkdirSync(join(root.path, 'packages', folder), { recursive: true })
    for (const [name, content] of Object.entries(files)) {
      writeFileSync(join(root.path, 'packages', folder, name), JSON.stringify(content))
    }
  }
  const packages = readPackages(root.path)
  root.remove()
  return packages
}
