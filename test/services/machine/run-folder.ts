import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { temporaryFolder } from './temporary-folder.ts'

/** Names the variable that tells test files the folder of their run. */
export const runFolderVariable = 'SENDOFF_TEST_RUN_FOLDER'

/** Time that a test file waits for a folder that another one makes. */
const patienceMs = 300_000
let ownFolder: string | undefined

/**
 * Makes a folder once in a test run, and returns its path. The first test file that asks makes the folder;
 * others wait for it, and get the same error if it cannot be made. A file that runs alone makes its own.
 */
export async function oncePerRun(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const run = process.env[runFolderVariable] ?? (ownFolder ??= temporaryFolder('alone').path)
  const folder = join(run, name.replaceAll('/', '-'))
  const result = `${folder}.result`

  if (isFirst(folder)) {
    const failure = await make(folder).then(
      () => '',
      (error: unknown) => String(error),
    )
    // In one step, so that no other file reads half of it.
    writeFileSync(`${result}.draft`, failure)
    renameSync(`${result}.draft`, result)
  }

  for (const end = performance.now() + patienceMs; !existsSync(result); await sleep(100)) {
    if (performance.now() > end) throw new Error(`${name} was not made within ${patienceMs} ms`)
  }
  const failure = readFileSync(result, 'utf8')
  if (failure !== '') throw new Error(`${name} could not be made: ${failure}`)
  return folder
}

function isFirst(folder: string): boolean {
  try {
    mkdirSync(folder)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}
