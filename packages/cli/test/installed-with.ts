import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { installedFolder } from '../../../test/package/packed-package.ts'
import { projectRoot } from '../../../test/workspace.ts'
import { type CallOptions, program } from './run-sendoff.ts'
import { newFolder } from './tested-outbox.ts'

/** Installs the program in a folder that has only these packages besides. Returns how to call it there. */
export function installedWith(test: TestContext, names: readonly string[]): CallOptions {
  const folder = newFolder(test)
  const own = join(folder, 'node_modules/@sendoff/cli')
  mkdirSync(own, { recursive: true })
  cpSync(dirname(program), join(own, 'dist'), { recursive: true })
  cpSync(join(dirname(program), '../package.json'), join(own, 'package.json'))
  symlinkSync(join(projectRoot, 'packages/sendoff'), join(folder, 'node_modules/sendoff'))
  for (const name of ['commander', 'jiti', ...names]) {
    const link = join(folder, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(installedFolder(name, 'packages/cli'), link)
  }
  return { cwd: folder, program: join(own, 'dist/bin.cjs') }
}
