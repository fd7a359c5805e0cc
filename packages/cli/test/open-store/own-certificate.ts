import { execFileSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { giveTo, type SystemUser } from '../../../../test/services/machine/unprivileged-user.ts'

/** The files of a certificate that has signed itself, for the name `localhost` only. */
export interface OwnCertificate {
  readonly key: string
  readonly certificate: string
}

/** Makes a certificate in a folder, for a server that runs as this user. */
export function ownCertificate(folder: string, user: SystemUser): OwnCertificate {
  const [key, certificate] = [join(folder, 'server.key'), join(folder, 'server.crt')]
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=localhost']
  const names = ['-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', certificate]
  execFileSync('openssl', [...request, ...names], { stdio: 'ignore' })
  giveTo(user, key, certificate)
  chmodSync(key, 0o600)
  return { key, certificate }
}
