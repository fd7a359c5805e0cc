import { globSync } from 'node:fs'
import { join } from 'node:path'
import { installDebianPackages } from '../../machine/debian-packages.ts'
import { isRunnable } from '../../machine/find-program.ts'
import { type PostgresServer, postgresServer } from './postgres-server.ts'
import { postgresStandby } from './postgres-standby.ts'
import type { Service } from '../../service.ts'

const oldestVersion = 15

/** PostgreSQL from Debian's packages: the oldest supported version, if there are several. */
export const postgres: Service = {
  name: 'postgres',
  urlVariable: 'POSTGRES_URL',

  async find() {
    return binFolder() !== undefined
  },

  install: () => installDebianPackages('postgresql'),

  async start(folder) {
    const server = await debianPostgresServer(folder)
    return { url: server.url, stop: () => server.stop('immediate') }
  },
}

/** Starts a private server, with its data in `folder`, for tests that harm it or need settings of their own. */
export async function debianPostgresServer(
  folder: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<PostgresServer> {
  return postgresServer({ binFolder: requiredBinFolder(), folder, settings })
}

/** Starts a standby of such a server, with its data in `folder`. */
export async function debianPostgresStandby(folder: string, primaryUrl: string): Promise<PostgresServer> {
  return postgresStandby({ binFolder: requiredBinFolder(), folder, primaryUrl })
}

function requiredBinFolder(): string {
  const found = binFolder()
  if (found !== undefined) return found
  throw new Error(`There is no PostgreSQL ${oldestVersion} or newer here. Install Debian's postgresql.`)
}

function binFolder(): string | undefined {
  return globSync('/usr/lib/postgresql/*/bin')
    .map((folder) => ({ folder, version: Number(folder.split('/').at(-2)) }))
    .filter(({ version }) => version >= oldestVersion)
    .sort((one, other) => one.version - other.version)
    .map(({ folder }) => folder)
    .find((folder) => ['initdb', 'postgres'].every((program) => isRunnable(join(folder, program))))
}
