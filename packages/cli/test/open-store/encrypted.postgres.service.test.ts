import { equal, match } from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import pg from 'pg'
import { type TemporaryFolder, temporaryFolder } from '../../../../test/services/machine/temporary-folder.ts'
import type { PostgresServer } from '../../../../test/services/servers/postgres/postgres-server.ts'
import { debianPostgresServer } from '../../../../test/services/servers/postgres/postgres.ts'
import { installedWith } from '../installed-with.ts'
import { sendoff } from '../run-sendoff.ts'
import { ownCertificate } from './own-certificate.ts'

/** A server with a certificate that it has signed itself, for the name `localhost` only. */
describe('PostgreSQL by TLS', () => {
  let folder: TemporaryFolder
  let server: PostgresServer
  let certificate: string

  before(async () => {
    folder = temporaryFolder('cli-tls')
    server = await debianPostgresServer(folder.path)
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    const { rows } = await client.query<{ data_directory: string }>('show data_directory')
    const data = rows[0]!.data_directory
    ;({ certificate } = ownCertificate(data, statSync(data)))
    await client.query('alter system set ssl = on')
    // Whatever connects from now on is encrypted.
    const file = (await client.query<{ hba_file: string }>('show hba_file')).rows[0]!.hba_file
    writeFileSync(file, `hostnossl all all all reject\n${readFileSync(file, 'utf8')}`)
    await client.query('select pg_reload_conf()')
    await client.end()
  })
  after(async () => {
    await server.stop('immediate')
    folder.remove()
  })

  /** The address with these parameters. */
  const at = (host: string, parameters: Record<string, string>): string => {
    const url = new URL(server.url)
    url.hostname = host
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return url.href
  }

  it('encrypts with sslmode=require, and takes any certificate', async (test) => {
    for (const options of [{}, installedWith(test, ['postgres'])]) {
      const url = at('127.0.0.1', { sslmode: 'require' })
      const { code, stdout, stderr } = await sendoff(['migrate', '--url', url], options)
      equal(code, 0, stderr)
      equal(stderr, '')
      match(stdout, /./)
    }
    const { code, stderr } = await sendoff(['status', '--url', server.url])
    equal(code, 3)
    match(stderr, /no encryption/)
  })

  it('checks the certificate with sslmode=verify-full', async () => {
    const unknown = await sendoff(['status', '--url', at('localhost', { sslmode: 'verify-full' })])
    equal(unknown.code, 3)
    match(unknown.stderr, /self-signed certificate/)

    const trusted = { sslmode: 'verify-full', sslrootcert: certificate }
    const known = await sendoff(['status', '--url', at('localhost', trusted)])
    equal(known.code, 0, known.stderr)
    const other = await sendoff(['status', '--url', at('127.0.0.1', trusted)])
    equal(other.code, 3)
    match(other.stderr, /does not match certificate/)

    const byNode = await sendoff(['status', '--url', at('localhost', { sslmode: 'verify-full' })], {
      env: { NODE_EXTRA_CA_CERTS: certificate },
    })
    equal(byNode.code, 0, byNode.stderr)
  })
})
