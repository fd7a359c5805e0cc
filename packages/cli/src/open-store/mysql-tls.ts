import { readFileSync } from 'node:fs'
import { OutboxError } from 'sendoff/store'

/** The options of TLS that both drivers of MySQL take. */
export interface MysqlTls {
  readonly rejectUnauthorized: boolean
  readonly ca?: string
  /** Without it, mysql2 lets certificates for other names in. */
  readonly verifyIdentity?: true
  /** Lets certificates for other names in. */
  readonly checkServerIdentity?: () => undefined
}

/**
 * Takes the parameters of TLS out of an address: `ssl-mode` as MySQL knows it, `ssl-ca`, and `ssl=true`. The
 * drivers read these parameters in different ways, and one of them would go on without encryption.
 */
export function takeMysqlTls(url: URL): MysqlTls | undefined {
  const [mode, ssl, authority] = ['ssl-mode', 'ssl', 'ssl-ca'].map((name) => {
    const value = url.searchParams.get(name)
    url.searchParams.delete(name)
    return value
  })
  const ca = authority == null ? {} : { ca: readFileSync(authority, 'utf8') }
  switch ((mode ?? modeOf(ssl ?? null, authority ?? null)).toUpperCase()) {
    case 'DISABLED':
      return undefined
    case 'REQUIRED':
      return { rejectUnauthorized: false, ...ca }
    case 'VERIFY_CA':
      return { rejectUnauthorized: true, checkServerIdentity: () => undefined, ...ca }
    case 'VERIFY_IDENTITY':
      return { rejectUnauthorized: true, verifyIdentity: true, ...ca }
    default:
      throw new OutboxError(
        'OUTBOX_INVALID_OPTION',
        'The address of MySQL has an unknown setting of TLS. Use ssl-mode=DISABLED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY, and ssl-ca=FILE.',
      )
  }
}

function modeOf(ssl: string | null, authority: string | null): string {
  if (ssl === 'true' || ssl === '1') return 'VERIFY_IDENTITY'
  if (ssl === null) return authority === null ? 'DISABLED' : 'VERIFY_IDENTITY'
  return ssl === 'false' || ssl === '0' ? 'DISABLED' : ''
}
