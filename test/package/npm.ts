import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/**
 * Runs npm in a folder. Rejects with npm's output if it fails, or if it takes too long twice: npm hangs now and
 * then, and what it does here can be repeated.
 */
export async function npm(folder: string, args: readonly string[], timeoutMs = 120_000): Promise<void> {
  const run = () =>
    promisify(execFile)('npm', [...args, '--no-audit', '--no-fund'], {
      cwd: folder,
      env: outsideEnvironment(),
      timeout: timeoutMs,
    })
  await run().catch((error: { readonly killed?: boolean }) => {
    if (error.killed !== true) throw error
    return run()
  })
}

/**
 * Returns the environment of this process, without the variables that npm and the test runner set for it
 * alone.
 */
export function outsideEnvironment(): NodeJS.ProcessEnv {
  const own = /^npm_(?!config_)|^npm_config_local_prefix$|^INIT_CWD$|^NODE_TEST_CONTEXT$|^NODE_OPTIONS$/
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name)))
}
