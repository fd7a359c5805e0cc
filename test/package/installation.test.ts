import { deepEqual, equal, fail, match } from 'node:assert/strict'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { before, describe, it, type TestContext } from 'node:test'
import { servicesAreRequired } from '../services/launcher/launcher.ts'
import { describeEnd, ProcessGroup, within } from '../services/processes/process-group.ts'
import { packageRules } from '../package-rules.ts'
import { projectRoot, readPackages } from '../workspace.ts'
import { InstalledPackage, type Manifest } from './installed-package.ts'
import { nodeRelease } from './node-release.ts'
import { compileReadme } from './readme-example.ts'

const timeLimitMs = 30_000
const oldest = '22.13.0'
const releases = [oldest, '22.23.3', process.versions.node, '26.10.0']

for (const { name, folder } of readPackages()) {
  describe(`the installed package ${name}`, () => judgeInstallation(name, folder))
}

function judgeInstallation(name: string, folder: string): void {
  const showsExample = packageRules[name]!.hasProjectPages === true
  const manifest = readFileSync(join(projectRoot, folder, 'package.json'), 'utf8')
  const { bin: programs = {} } = JSON.parse(manifest) as Pick<Manifest, 'bin'>
  let installed: InstalledPackage
  before(async () => {
    installed = await InstalledPackage.create(name)
  })

  it('is tried on the oldest Node that it promises to run on', () => {
    equal(installed.manifest.engines.node, `>=${oldest.replace(/\.0$/, '')}`)
  })

  if (showsExample) {
    it('is loaded by require in a CommonJS project, and by import in an ESM project', () => {
      match(
        readFileSync(compileReadme(installed.projects.commonjs, 'commonjs'), 'utf8'),
        /require\("sendoff"\)/,
      )
      match(
        readFileSync(compileReadme(installed.projects.module, 'module'), 'utf8'),
        /^import .* from 'sendoff'/m,
      )
    })
  }

  for (const version of releases) {
    for (const type of ['module', 'commonjs'] as const) {
      const where = `${type === 'module' ? 'an ESM' : 'a CommonJS'} project on Node ${version}`

      it(`loads under each of its names in ${where}`, async (test) => {
        const names = installed.specifiers
        const file = join(installed.projects[type], `load-${version}.js`)
        const load = (name: string) =>
          type === 'module' ? `import * as m${names.indexOf(name)} from '${name}'` : `require('${name}')`
        writeFileSync(file, names.map(load).join('\n'))

        await runToEnd(test, version, file)
      })

      for (const program of Object.keys(programs)) {
        it(`runs ${program} in ${where}`, async (test) => {
          const file = join(installed.projects[type], 'node_modules/.bin', program)
          const folder = await runToEnd(test, version, file, ['--help'])
          if (folder === undefined) return
          const url = ['--url', 'sqlite:app.db']
          await runToEnd(test, version, file, ['migrate', ...url], folder)
          await runToEnd(test, version, file, ['status', ...url], folder)
        })
      }

      if (!showsExample) continue
      it(`delivers the event of the readme in ${where}, and lets the process end`, async (test) => {
        const folder = await runToEnd(test, version, join(installed.projects[type], 'readme.js'))
        if (folder === undefined) return

        const database = new DatabaseSync(join(folder, 'app.db'), { readOnly: true })
        const rows = database.prepare('select event_type, status, attempts from outbox_event').all()
        database.close()
        deepEqual(
          rows.map((row) => ({ ...row })),
          [{ event_type: 'OrderPlaced', status: 1, attempts: 0 }],
        )
      })
    }
  }

  /** Runs a file in a folder of its own and returns that folder; undefined if there is no such Node here. */
  async function runToEnd(
    test: TestContext,
    version: string,
    file: string,
    args: readonly string[] = [],
    given?: string,
  ): Promise<string | undefined> {
    const node = await nodeRelease(version)
    if ('missing' in node) {
      if (servicesAreRequired(process.env)) fail(node.missing)
      test.skip(node.missing)
      return undefined
    }

    const folder = given ?? mkdtempSync(join(installed.projects.module, 'run-'))
    const run = new ProcessGroup(node.executable, [file, ...args], {
      cwd: folder,
      env: { ...process.env, NODE_TEST_CONTEXT: undefined, NODE_OPTIONS: undefined },
    })
    const end = await within(timeLimitMs, run.ended)
    await run.stop()
    const what = end === undefined ? `did not end within ${timeLimitMs} ms` : describeEnd(end)
    equal(what, 'ended with exit code 0', `${file} ${what}. Its output:\n${run.output}`)
    return folder
  }
}
