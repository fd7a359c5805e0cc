import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { findProgram } from '../../machine/find-program.ts'
import { runCommand } from '../../processes/run-command.ts'

/** A MySQL that runs from a folder of its own, beside whatever the machine has installed. */
export interface MysqlRelease {
  /** The version of Debian's package, such as `9.7.4-2`. */
  readonly version: string
  /** Holds the files of the packages as if it were the root of a machine. */
  readonly root: string
}

const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg'

// Only the unstable suite has MySQL; the others have MariaDB.
const source = `deb [signed-by=${keyring}] http://deb.debian.org/debian sid main\n`

const packageName = 'mysql-server-core'

// Scripts of the package need Perl. The server does not.
const unneeded = /^(perl|libperl|gcc-)/

/** Returns the newest MySQL in the cache. */
export function cachedMysql(): MysqlRelease | undefined {
  const versions = existsSync(cachePath()) ? readdirSync(cacheFolder()) : []
  const version = versions
    .filter((name) => /^\d/.test(name))
    .toSorted((one, other) => one.localeCompare(other, 'en', { numeric: true }))
    .at(-1)
  return version === undefined ? undefined : { version, root: join(cacheFolder(), version) }
}

/**
 * Fetches MySQL from Debian's unstable suite. Nothing is installed: the packages are unpacked into a folder
 * among the system's temporary files, with about 270 MB, which needs no rights. Rejects on a system that is
 * not Debian, and if the suite cannot be reached or has no MySQL.
 */
export async function fetchMysql(): Promise<void> {
  for (const needed of ['apt-get', 'apt-cache', 'dpkg']) {
    if (findProgram(needed) === undefined) throw new Error(`it comes from Debian, and there is no ${needed}`)
  }
  if (!existsSync(keyring)) throw new Error(`it comes from Debian, and there is no ${keyring}`)

  const folder = mkdtempSync(join(cacheFolder(), 'fetch-'))
  try {
    const env = ownApt(folder)
    await runCommand('apt-get', ['update'], { env })
    const version = await offeredVersion(env)
    const downloads = join(folder, 'downloads')
    mkdirSync(downloads)
    await runCommand('apt-get', ['download', ...(await neededPackages(env))], { env, cwd: downloads })

    const root = join(folder, 'root')
    for (const file of readdirSync(downloads)) await runCommand('dpkg', ['-x', join(downloads, file), root])
    // The server's user has to reach its files.
    chmodSync(root, 0o755)
    // In one step, because another run may search for it or fetch it at the same time.
    const place = join(cacheFolder(), version)
    if (!existsSync(place)) renameSync(root, place)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Returns a folder that only this user may write to, because its files are run. */
function cacheFolder(): string {
  const { uid, username } = userInfo()
  const folder = cachePath()
  mkdirSync(folder, { recursive: true, mode: 0o755 })

  const owner = lstatSync(folder)
  if (!owner.isDirectory() || (uid >= 0 && owner.uid !== uid)) {
    throw new Error(`${folder} is not a folder of ${username}`)
  }
  chmodSync(folder, 0o755)
  return folder
}

function cachePath(): string {
  return join(tmpdir(), `sendoff-mysql-releases-${userInfo().username}`)
}

/** Returns the environment of an apt with lists of its own, which does not see what the machine has. */
function ownApt(folder: string): NodeJS.ProcessEnv {
  for (const each of ['state/lists/partial', 'cache/archives/partial', 'parts']) {
    mkdirSync(join(folder, each), { recursive: true })
  }
  writeFileSync(join(folder, 'state/status'), '')
  writeFileSync(join(folder, 'sources.list'), source)
  const settings = {
    'Dir::State': join(folder, 'state'),
    'Dir::State::status': join(folder, 'state/status'),
    'Dir::Cache': join(folder, 'cache'),
    'Dir::Etc::SourceList': join(folder, 'sources.list'),
    'Dir::Etc::SourceParts': join(folder, 'parts'),
    'Dir::Etc::Preferences': join(folder, 'preferences'),
    'Dir::Etc::PreferencesParts': join(folder, 'parts'),
    // Fetching as another user, apt could not write to the folder.
    'APT::Sandbox::User': userInfo().username,
    'APT::Update::Error-Mode': 'any',
    'Acquire::Languages': 'none',
    'Acquire::Retries': '1',
    'Acquire::http::Timeout': '20',
  }
  const configuration = join(folder, 'apt.conf')
  const lines = Object.entries(settings).map(([name, value]) => `${name} "${value}";\n`)
  writeFileSync(configuration, lines.join(''))
  return { ...process.env, APT_CONFIG: configuration, LC_ALL: 'C' }
}

async function offeredVersion(env: NodeJS.ProcessEnv): Promise<string> {
  const policy = await runCommand('apt-cache', ['policy', packageName], { env })
  const [, version] = /Candidate: (\d\S*)/.exec(policy) ?? []
  if (version === undefined) throw new Error(`Debian's unstable suite has no ${packageName}`)
  return version
}

async function neededPackages(env: NodeJS.ProcessEnv): Promise<readonly string[]> {
  const others = ['recommends', 'suggests', 'conflicts', 'breaks', 'replaces', 'enhances']
  const options = ['--recurse', ...others.map((each) => `--no-${each}`)]
  const tree = await runCommand('apt-cache', ['depends', ...options, packageName], { env })
  // Packages are at the beginning of a line. Virtual ones are in angle brackets.
  return tree.split('\n').filter((line) => /^\w/.test(line) && !unneeded.test(line))
}
