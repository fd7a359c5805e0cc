import { match } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { debianPostgresServer } from '../../test/services/servers/postgres/postgres.ts'
import { temporaryFolder } from '../../test/services/machine/temporary-folder.ts'

describe('the example about Debezium', () => {
  it('issues one invoice for each order, although the relay is killed half-way', async (t) => {
    const folder = temporaryFolder('debezium')
    const server = await debianPostgresServer(folder.path)
    t.after(async () => {
      await server.stop('immediate')
      folder.remove()
    })

    const { stdout } = await promisify(execFile)(
      process.execPath,
      [join(import.meta.dirname, 'debezium.ts')],
      { env: { ...process.env, DATABASE_URL: server.url } },
    )
    match(stdout, /^orders=20 invoices=20 relays=2\nduplicates=\d+\n$/)
  })
})
