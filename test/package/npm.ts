import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Runs npm in a folder. Rejects with what npm wrote when it fails or takes too long. */
export async function npm(folder: string, args: readonly string[], timeoutMs = 180_000): Promise<void> {
  await promisify(execFile)('npm', [...args, '--no-audit', '--no-fund'], {
    cwd: folder,
    env: environment(),
    timeout: timeoutMs,
  })
}

/** Without what an npm around this process has said about itself: its folder, its script, its package. */
function environment(): NodeJS.ProcessEnv {
  const own = /^npm_(?!config_)|^npm_config_local_prefix$|^INIT_CWD$|^NODE_TEST_CONTEXT$/
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name)))
}
