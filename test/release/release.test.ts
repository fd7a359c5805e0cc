import { deepEqual, equal, match } from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { prepareRelease, releaseFaults } from '../../release/prepare-release.ts'
import { outsideEnvironment } from '../package/npm.ts'
import { temporaryFolder } from '../services/machine/temporary-folder.ts'
import { projectRoot } from '../workspace.ts'

const isFull = process.env['SENDOFF_TEST_SCALE'] === 'full'
const version = '7.8.9'

describe('a release', () => {
  it('has its version everywhere, and the entries of the changelog', () => {
    const folder = temporaryFolder('release')
    const files = [
      ...globSync('packages/*/{package,openapi}.json', { cwd: projectRoot }),
      'packages/sendoff/src/version.ts',
      'package-lock.json',
      'CHANGELOG.md',
    ]
    for (const file of files) cpSync(join(projectRoot, file), join(folder.path, file))
    const read = (file: string) => readFileSync(join(folder.path, file), 'utf8')
    const before = files.map((file) => lines(read(file)))
    prepareRelease(folder.path, version, '2031-02-03')

    for (const [index, file] of files.entries()) {
      const changed = lines(read(file)).filter((line) => !before[index]!.includes(line))
      equal(changed.length > 0, true, `${file} has not changed`)
      for (const line of changed) match(line, /7\.8\.9/, file)
    }
    match(read('CHANGELOG.md'), /^## Unreleased\n\n## 7\.8\.9 - 2031-02-03\n\n\S/m)
    deepEqual(releaseFaults(folder.path, version).length, 2)
    folder.remove()
  })

  it('is refused if its version is none or old, or nothing has changed', () => {
    deepEqual(releaseFaults(projectRoot, version), [])
    match(releaseFaults(projectRoot, 'next').join(' '), /"next" is no version/)
    match(releaseFaults(projectRoot, '0.0.9').join(' '), /0\.0\.9 does not come after \d/)
    const { version: current } = JSON.parse(
      readFileSync(join(projectRoot, 'packages/sendoff/package.json'), 'utf8'),
    ) as { version: string }
    match(releaseFaults(projectRoot, current).join(' '), /does not come after/)
    match(releaseFaults(projectRoot, `${current}-beta.1`).join(' '), /does not come after/)
  })

  it(
    'is packed, checked and tagged by a dry run, which changes nothing',
    { skip: !isFull && 'npm run test:full packs every package' },
    () => {
      const state = () =>
        execFileSync('git', ['status', '--porcelain', '--branch'], { cwd: projectRoot }).toString()
      const before = state()
      const output = execFileSync(process.execPath, ['release/release.ts', version, '--dry-run'], {
        cwd: projectRoot,
        env: outsideEnvironment(),
        encoding: 'utf8',
      })
      match(output, /^A dry run of 7\.8\.9: nothing was changed here\.\n/)
      const published = [...output.matchAll(/^ {2}npm publish (\S+)-7\.8\.9\.tgz --access public$/gm)]
      deepEqual(
        published.map(([, name]) => name),
        ['sendoff', 'sendoff-dashboard', 'sendoff-cli', 'sendoff-nestjs'],
      )
      equal(state(), before)
      equal(execFileSync('git', ['tag', '--list', `v${version}`], { cwd: projectRoot }).toString(), '')
    },
  )
})

function lines(text: string): readonly string[] {
  return text.split('\n').filter((line) => line.trim() !== '')
}
