import { join } from 'node:path'
import pg from 'pg'
import { runCommand } from '../../processes/run-command.ts'
import { giveTo, unprivilegedUser } from '../../machine/unprivileged-user.ts'
import { type PostgresServer, type PostgresServerOptions, startedServer } from './postgres-server.ts'

export interface PostgresStandbyOptions extends PostgresServerOptions {
  /** The address of the primary, or of a proxy before it. The standby follows it from now on. */
  readonly primaryUrl: string
}

/** Copies a running server, and starts the copy as its standby: clients may only read from it. */
export async function postgresStandby(options: PostgresStandbyOptions): Promise<PostgresServer> {
  const { binFolder, folder, primaryUrl } = options
  const user = unprivilegedUser('postgres')
  giveTo(user, folder)

  const copy = ['--write-recovery-conf', '--checkpoint=fast', '--no-sync', '--wal-method=stream']
  const place = [`--pgdata=${join(folder, 'data')}`, `--dbname=${primaryUrl}`]
  await runCommand(join(binFolder, 'pg_basebackup'), [...copy, ...place], { ...user, cwd: folder })
  return startedServer({ binFolder, folder })
}

/** Makes a standby a primary. Resolves when clients can write to it. */
export async function promote(standby: PostgresServer): Promise<void> {
  const client = new pg.Client(standby.url)
  await client.connect()
  try {
    await client.query('select pg_promote()')
  } finally {
    await client.end()
  }
}
