import { equal, match } from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { debianPostgresServer } from '../../test/services/servers/postgres/postgres.ts'
import { temporaryFolder } from '../../test/services/machine/temporary-folder.ts'

const program = join(import.meta.dirname, 'debezium.ts')

describe('the example about Debezium', () => {
  it('starts a server, and issues one invoice for each order, although the relay is killed half-way', () =>
    checkInvoices(undefined))

  it('says that the server is missing, or does not log what Debezium needs', async (t) => {
    const folder = temporaryFolder('debezium')
    const server = await debianPostgresServer(folder.path, { wal_level: 'replica' })
    t.after(async () => {
      await server.stop('immediate')
      folder.remove()
    })
    checkMissing(
      server.url,
      'A server with wal_level = logical. This one has replica: change it and restart the server.',
    )

    await server.stop()
    checkMissing(
      server.url,
      'A PostgreSQL server at DATABASE_URL (ECONNREFUSED). Without it, the example starts one.',
    )
  })

  const skip = process.env['SENDOFF_TEST_SCALE'] !== 'full' && 'it is in npm run test:full'
  it('does so on a server that runs already', { skip }, async (t) => {
    const folder = temporaryFolder('debezium')
    const server = await debianPostgresServer(folder.path)
    t.after(async () => {
      await server.stop('immediate')
      folder.remove()
    })
    await checkInvoices(server.url)
  })
})

async function checkInvoices(url: string | undefined): Promise<void> {
  const { stdout } = await promisify(execFile)(process.execPath, [program], {
    env: { ...process.env, DATABASE_URL: url },
  })
  match(stdout, /^orders=20 invoices=20 relays=2\nduplicates=\d+\n$/)
}

function checkMissing(url: string, what: string): void {
  const { status, stderr } = spawnSync(process.execPath, [program], {
    encoding: 'utf8',
    env: { ...process.env, DATABASE_URL: url },
  })
  equal(stderr, `The example cannot run here. It lacks:\n- ${what}\n`)
  equal(status, 1)
}
