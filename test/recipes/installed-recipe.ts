import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { npm } from '../package/npm.ts'
import { packPackage } from '../package/packed-package.ts'
import { temporaryFolder } from '../services/machine/temporary-folder.ts'
import { projectRoot } from '../workspace.ts'

/** Why a recipe that needs an install of its own is not run; false if it is run. */
export const withoutInstall =
  process.env.SENDOFF_TEST_SCALE !== 'full' && 'it installs packages: it runs with SENDOFF_TEST_SCALE=full'

/**
 * Copies a folder of recipes to an empty one, and installs packages of the registry there, with the packed
 * `sendoff`. Returns the new folder. Skips the test if the registry cannot be reached.
 */
export async function installRecipe(
  test: TestContext,
  recipe: string,
  packages: readonly string[],
): Promise<string | undefined> {
  const folder = temporaryFolder('recipe')
  test.after(() => folder.remove())
  cpSync(join(projectRoot, 'examples/recipes', recipe), folder.path, {
    recursive: true,
    filter: (path) => !path.endsWith('.test.ts'),
  })
  writeFileSync(join(folder.path, 'package.json'), JSON.stringify({ private: true, type: 'module' }))

  const packed = await packPackage('sendoff')
  const patience = ['--fetch-retries=1', '--fetch-timeout=30000']
  const names = [...packages, ...Object.values(packed.tarballs)]
  try {
    await npm(folder.path, ['install', '--prefix=.', ...patience, ...names], 300_000)
  } catch (error) {
    test.skip(`${packages.join(', ')} cannot be installed: ${(error as Error).message.split('\n')[0]}`)
    return undefined
  }
  return folder.path
}
