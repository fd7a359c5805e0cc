import { equal, match } from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { stablePort } from '../../../../test/services/machine/stable-port.ts'
import { type TemporaryFolder, temporaryFolder } from '../../../../test/services/machine/temporary-folder.ts'
import { redisServer, type RedisServer } from '../../../../test/services/servers/redis/redis-server.ts'
import { installedWith } from '../installed-with.ts'
import { RunningCall, sendoff, sendoffJson } from '../run-sendoff.ts'
import { newSqliteOutbox, writePending } from '../tested-outbox.ts'
import { ownCertificate } from './own-certificate.ts'

describe('Redis by TLS', { concurrency: 3 }, () => {
  let folder: TemporaryFolder
  let server: RedisServer
  let certificate: string
  let port: number

  before(async () => {
    folder = temporaryFolder('cli-redis-tls')
    const made = ownCertificate(folder.path, {})
    certificate = made.certificate
    port = await stablePort()
    const settings = {
      'tls-port': String(port),
      'tls-cert-file': certificate,
      'tls-key-file': made.key,
      'tls-ca-cert-file': certificate,
      'tls-auth-clients': 'no',
    }
    server = await redisServer({ folder: folder.path, persistence: 'none', settings })
  })
  after(async () => {
    await server.kill()
    folder.remove()
  })

  for (const client of ['ioredis', 'redis']) {
    it(`connects with rediss: and a certificate that it knows: ${client}`, async (test) => {
      const installed = installedWith(test, [client])
      const known = { ...installed, env: { NODE_EXTRA_CA_CERTS: certificate } }
      const at = (address: string) => ['--url', address, '--table', `tls-${client}`]
      const trusted = at(`rediss://localhost:${port}`)

      const migrated = await sendoff(['migrate', ...trusted], known)
      equal(migrated.code, 0, migrated.stderr)
      const { counts } = await sendoffJson<{ counts: { PENDING: { count: number } } }>(
        ['status', ...trusted],
        known,
      )
      equal(counts.PENDING.count, 0)

      const unknown = await sendoff(['status', ...trusted], installed)
      equal(unknown.code, 3)
      match(unknown.stderr, /self-signed certificate/)
      const other = await sendoff(['status', ...at(`rediss://127.0.0.1:${port}`)], known)
      equal(other.code, 3)
      match(other.stderr, /does not match certificate/)
      const open = await sendoff(['status', ...at(`redis://localhost:${port}`)], known)
      equal(open.code, 3, open.stdout)
    })

    it(`relays to a stream with rediss: ${client}`, async (test) => {
      const outbox = await newSqliteOutbox(test)
      await writePending(outbox, 'OrderPlaced', 3)
      const to = `rediss://localhost:${port}?stream=orders-${client}`
      const relay = new RunningCall(['relay', '--to', to, '--port', '0', ...outbox.args], {
        ...installedWith(test, [client]),
        env: { NODE_EXTRA_CA_CERTS: certificate },
      })
      await relay.until(/The relay delivers/)
      let done = 0
      while (done < 3) {
        const { counts } = await sendoffJson<{ counts: { DONE: { count: number } } }>([
          'status',
          ...outbox.args,
        ])
        done = counts.DONE.count
      }
      relay.kill('SIGTERM')
      equal((await relay.ended).code, 0)
    })
  }
})
