import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { outsideEnvironment } from './npm.ts'
import { readSteps } from './page-steps.ts'

export interface FollowOptions {
  /** An empty folder. */
  readonly folder: string
  /**
   * The packages of the project, by name. A path of a tarball replaces the name in `npm install`. A path of
   * an installed package is linked.
   */
  readonly packages: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
}

const installed = join(import.meta.dirname, '../../node_modules')

/** A command of the page, its standard output, and the output that the page shows. */
export interface FollowedCommand {
  readonly command: string
  readonly printed: string
  readonly promised: string | undefined
}

/**
 * Does what a page says, word by word, as a reader in an empty folder does: saves its files, and runs its
 * commands in a shell. Rejects with a command's output if the command fails.
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
      npm_config_offline: 'true',
      ...env,
    },
    timeout: 120_000,
  })
  return stdout
}

/** Replaces the packages of the project, which are in no registry. All others are linked from the project. */
function withPackages(command: string, packages: FollowOptions['packages']): string {
  return command.replace(/^npm install (.*)$/gm, (_, words: string) => {
    const names = words.split(' ')
    const own = names.filter((name) => name in packages).map((name) => installing(name, packages[name]!))
    const others = names.filter((name) => !(name in packages))
    return [...own, ...others.flatMap(linksOf)].join('\n')
  })
}

function installing(name: string, path: string): string {
  if (path.endsWith('.tgz')) return `npm install ${path}`
  const link = `node_modules/${name}`
  return `[ -f package.json ] || echo '{}' > package.json; mkdir -p ${dirname(link)} && ln -sfn ${path} ${link}`
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
