import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { preparePages } from './pages/prepare-pages.ts'

const site = import.meta.dirname
const root = join(site, '..')

/**
 * Builds the site of the documentation into `site/dist`, or into the folder that `--out` names.
 *
 * The site's own dependencies are installed first, if they are missing or older than its lockfile. `npm ci` of
 * the project never needs them.
 */
const { values } = parseArgs({ options: { out: { type: 'string', default: join(site, 'dist') } } })
installDependencies()

const pages = join(site, '.pages')
rmSync(pages, { recursive: true, force: true })
preparePages(root, pages)
run('node', ['api-reference.mjs', join(pages, 'api')])
run('node', ['node_modules/vitepress/bin/vitepress.js', 'build', '.', '--outDir', values.out])

function installDependencies(): void {
  const lockfile = readFileSync(join(site, 'package-lock.json'), 'utf8')
  const installed = join(site, 'node_modules/.installed-lockfile')
  if (existsSync(installed) && readFileSync(installed, 'utf8') === lockfile) return
  run('npm', ['ci', '--no-audit', '--no-fund'])
  writeFileSync(installed, lockfile)
}

function run(program: string, args: readonly string[]): void {
  const path = program === 'node' ? process.execPath : program
  execFileSync(path, args, { cwd: site, stdio: 'inherit' })
}
