import { execFile } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { npm } from '../../package/npm.ts'
import { oncePerRun } from '../../services/machine/run-folder.ts'
import { projectRoot } from '../../workspace.ts'

const run = promisify(execFile)

/** The last commit whose code knows only the first revision of the schema. */
const commit = 'a5802fbefc8879b2874118171c83656148d195d6'

/** Code of the first release, with the programs of its own fault runs. */
export interface OldRelease {
  /** Arguments that come before a program of `programs`. */
  readonly nodeArguments: readonly string[]
  /** The folder with its `worker-process.ts` and `writer-process.ts`. */
  readonly programs: string
}

/**
 * Returns the first release, packed as it would be published. It comes from the history of the project, once,
 * and stays in `~/.cache/sendoff-test`. Returns in words why there is none: a copy without the history, and
 * without that folder, cannot make it.
 */
export async function firstRelease(): Promise<OldRelease | string> {
  const folder = join(homedir(), '.cache/sendoff-test/releases', commit)
  const prepared = await oncePerRun('first-release', async (folderOfRun) => {
    writeFileSync(join(folderOfRun, 'missing'), (await prepare(folder)) ?? '')
  })
  const missing = readFileSync(join(prepared, 'missing'), 'utf8')
  if (missing !== '') return missing

  return {
    nodeArguments: ['--import', join(import.meta.dirname, 'packed-imports.ts')],
    programs: join(folder, 'test/faults/processes'),
  }
}

async function prepare(folder: string): Promise<string | undefined> {
  const missing = existsSync(folder) ? undefined : await make(folder)
  if (missing !== undefined) return missing

  // Drivers of databases come from here. The library itself needs none.
  const modules = join(folder, 'node_modules')
  rmSync(modules, { force: true })
  symlinkSync(join(projectRoot, 'node_modules'), modules)
  return undefined
}

async function make(folder: string): Promise<string | undefined> {
  const making = `${folder}.${process.pid}`
  mkdirSync(making, { recursive: true })
  try {
    await run('git', ['-C', projectRoot, 'archive', '--format=tar', '-o', join(making, 'source.tar'), commit])
  } catch {
    rmSync(making, { recursive: true })
    return `this copy of the project has no commit ${commit}, and ${folder} does not exist; fetch the whole history`
  }
  await run('tar', ['-xf', join(making, 'source.tar'), '-C', making])
  symlinkSync(join(projectRoot, 'node_modules'), join(making, 'node_modules'))
  const library = join(making, 'packages/sendoff')
  await npm(library, ['pack', '--pack-destination', making])
  const tarball = readdirSync(making).find((name) => name.endsWith('.tgz'))!
  // The programs import files of `src`. From here on these are the packed ones.
  await run('tar', ['-xzf', join(making, tarball), '-C', making])
  rmSync(join(library, 'src'), { recursive: true })
  rmSync(join(library, 'dist'), { recursive: true, force: true })
  renameSync(join(making, 'package/dist'), join(library, 'dist'))
  try {
    renameSync(making, folder)
  } catch {
    // Another test run was faster.
    rmSync(making, { recursive: true })
  }
  return undefined
}
