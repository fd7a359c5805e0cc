import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { outsideEnvironment } from './npm.ts'
import { readSteps } from './page-steps.ts'

export interface FollowOptions {
  /** An empty folder. */
  readonly folder: string
  /** What `npm install` gets in place of a package's name. */
  readonly packages: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
}

/** A command of the page, what it wrote to its standard output, and what the page says that it writes. */
export interface FollowedCommand {
  readonly command: string
  readonly printed: string
  readonly promised: string | undefined
}

/**
 * Does what a page says, word by word, as a reader in an empty folder does: saves its files, and runs its commands in a
 * shell. Rejects with a command's output when the command fails.
 */
export async function followPage(
  markdown: string,
  options: FollowOptions,
): Promise<readonly FollowedCommand[]> {
  const followed: FollowedCommand[] = []
  for (const step of readSteps(markdown)) {
    if (step.kind === 'file') {
      const path = join(options.folder, step.name)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, step.text)
    } else {
      const printed = await runCommand(step.command, options)
      followed.push({ command: step.command, printed, promised: step.promised })
    }
  }
  return followed
}

async function runCommand(command: string, { folder, packages, env }: FollowOptions): Promise<string> {
  const { stdout } = await promisify(execFile)('bash', ['-euc', withPackages(command, packages)], {
    cwd: folder,
    env: {
      ...outsideEnvironment(),
      PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      ...env,
    },
    timeout: 120_000,
  })
  return stdout
}

/** The packed library is in no registry, and tests need none for what the project has installed. */
function withPackages(command: string, packages: FollowOptions['packages']): string {
  return command.replace(/^npm install .*$/gm, (line) =>
    line
      .split(' ')
      .map((word) => packages[word] ?? word)
      .join(' '),
  )
}
