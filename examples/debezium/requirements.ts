import { spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { basename, delimiter, join } from 'node:path'
import type pg from 'pg'

const oldestJava = 17
const target = join(import.meta.dirname, 'target')

/** The folders and jars of the program `OutboxRelay`: those that Maven has made, or those of the variable. */
export function classPath(): string {
  const fromMaven = [join(target, 'classes'), join(target, 'dependency', '*')].join(delimiter)
  return process.env['DEBEZIUM_CLASS_PATH'] ?? fromMaven
}

/** Returns what the relay needs and this machine lacks, each with what to do. */
export function missingForRelay(): readonly string[] {
  return [missingJava(), missingClasses()].filter((each) => each !== undefined)
}

/** Returns what Debezium needs of the server and does not find there, with what to do. */
export async function missingOnServer(pool: pg.Pool): Promise<readonly string[]> {
  try {
    const { rows } = await pool.query<{ readonly wal_level: string }>('show wal_level')
    const level = rows[0]!.wal_level
    if (level === 'logical') return []
    return [`A server with wal_level = logical. This one has ${level}: change it and restart the server.`]
  } catch (error) {
    const { code } = error as { readonly code?: string }
    return [
      `A PostgreSQL server at DATABASE_URL (${code ?? String(error)}). Without it, the example starts one.`,
    ]
  }
}

function missingJava(): string | undefined {
  const { status, stderr } = spawnSync('java', ['-version'], { encoding: 'utf8' })
  const version = status === 0 ? /version "(\d+)/.exec(stderr)?.[1] : undefined
  if (Number(version) >= oldestJava) return undefined
  const found = version === undefined ? '' : ` The one on the PATH is ${version}.`
  return `Java ${oldestJava} or newer on the PATH.${found}`
}

function missingClasses(): string | undefined {
  const entries = classPath()
    .split(delimiter)
    .flatMap((entry) => (basename(entry) === '*' ? globSync(`${entry}.jar`) : [entry]))
  const parts = [
    ...(entries.some((entry) => existsSync(join(entry, 'OutboxRelay.class'))) ? [] : ['OutboxRelay.class']),
    ...(entries.some(isEngine) ? [] : ["the jars of Debezium's engine"]),
  ]
  if (parts.length === 0) return undefined
  return (
    `${parts.join(' and ')} in the class path ${classPath()}. Maven makes both: ` +
    '"mvn -f examples/debezium package dependency:copy-dependencies".'
  )
}

function isEngine(entry: string): boolean {
  return basename(entry).startsWith('debezium-embedded-') && existsSync(entry)
}
