import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { outsideEnvironment } from './npm.ts'
import { readSteps } from './page-steps.ts'

export interface FollowOptions {
  /** An empty folder. */
  readonly folder: string
  /** The packed library, which `npm install` gets in place of its name; or where that is installed already, to be linked. */
  readonly library: string
  readonly env?: Readonly<Record<string, string>>
}

const installed = join(import.meta.dirname, '../../node_modules')

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

async function runCommand(command: string, { folder, library, env }: FollowOptions): Promise<string> {
  const { stdout } = await promisify(execFile)('bash', ['-euc', withPackages(command, library)], {
    cwd: folder,
    env: {
      ...outsideEnvironment(),
      PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_offline: 'true',
      ...env,
    },
    timeout: 120_000,
  })
  return stdout
}

/** The packed library is in no registry. All other packages are the project's own, and linked. */
function withPackages(command: string, library: string): string {
  const install = library.endsWith('.tgz')
    ? `npm install ${library}`
    : `[ -f package.json ] || echo '{}' > package.json; mkdir -p node_modules && ln -sfn ${library} node_modules/sendoff`
  return command.replace(/^npm install (.*)$/gm, (_, words: string) => {
    const others = words.split(' ').filter((word) => word !== 'sendoff')
    return [install, ...others.flatMap(linksOf)].join('\n')
  })
}

function linksOf(name: string): readonly string[] {
  const manifest = readFileSync(join(installed, name, 'package.json'), 'utf8')
  const { bin = {} } = JSON.parse(manifest) as { readonly bin?: object }
  const paths = [name, ...Object.keys(bin).map((program) => `.bin/${program}`)]
  return paths.map((path) => {
    const link = `node_modules/${path}`
    return `mkdir -p ${dirname(link)} && ln -sfn ${join(installed, path)} ${link}`
  })
}
