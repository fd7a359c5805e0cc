import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, isIPv4, isIPv6 } from 'node:net'
import { userInfo } from 'node:os'
import { OutboxError } from 'sendoff'
import { dashboard } from '../dashboard.ts'
import type { DashboardOptions } from '../dashboard-options.ts'
import { tokenAuthorize } from '../guard/token-authorize.ts'
import type { Authorize, Role, Visitor } from '../guard/visitor.ts'
import { nodeListener } from './node-handler.ts'

/** Options of `serveDashboard`: those of `dashboard` without `authorize`, and where to listen. */
export interface ServeDashboardOptions extends Omit<DashboardOptions, 'authorize' | 'basePath' | 'origins'> {
  /** The address to listen on. One that other machines can reach needs `token`. Default: `127.0.0.1`. */
  readonly host?: string
  /** The port. Default: 0, any that is free. */
  readonly port?: number
  /**
   * A secret of at least 16 characters that the visitor has to know. A browser asks for it as a password.
   * Default: none.
   */
  readonly token?: string
  /** The name for the audit. Default: the user of this process. */
  readonly actor?: string
  /** What the visitor may do. Default: `admin`. */
  readonly role?: Role
}

/** A dashboard that listens. */
export interface ServedDashboard {
  /** The address of the page. */
  readonly url: string
  /** Stops the plans that run here, stops listening, and ends all connections. */
  close(): Promise<void>
}

/** Defaults of `serveDashboard`. */
export const serveDashboardDefaults = { host: '127.0.0.1', port: 0, role: 'admin' } as const

/**
 * Serves the dashboard on the loopback address of this machine, without a login: for the person who starts
 * it. There it refuses requests whose `Host` is another name. So no web site can reach it through a name that
 * leads to this machine. On any other address, it needs a token.
 */
export async function serveDashboard(options: ServeDashboardOptions): Promise<ServedDashboard> {
  const { host, port, token, role, actor = userName(), ...rest } = { ...serveDashboardDefaults, ...options }
  const isLocal = isLoopback(host)
  if (token === undefined && !isLocal) throw tokenMissing(host)
  const authorized = authorizeBy(token, { actor, role })
  let hosts: readonly string[] = []
  const handler = dashboard({
    ...rest,
    authorize: (request) => {
      const isMeant = !isLocal || hosts.includes((request.headers.get('host') ?? '').toLowerCase())
      return isMeant ? authorized(request) : new Response('This address is not served here.', { status: 421 })
    },
  })
  const server = createServer(nodeListener(handler))
  server.listen(port, host)
  await once(server, 'listening')
  const { port: bound } = server.address() as AddressInfo
  hosts = ownHosts(host, bound)

  return {
    url: `http://${inAddress(host)}:${bound}/`,
    async close() {
      await handler.close()
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

function authorizeBy(token: string | undefined, visitor: Visitor): Authorize {
  return token === undefined ? () => visitor : tokenAuthorize({ tokens: { [token]: visitor } })
}

/** Whether only this machine can reach an address. Of names, only `localhost` is known to be one. */
function isLoopback(host: string): boolean {
  return /^(?:localhost|::1)$/i.test(host) || (isIPv4(host) && host.startsWith('127.'))
}

/** The values of `Host` that stand for a loopback address. A browser leaves out port 80. */
function ownHosts(host: string, port: number): readonly string[] {
  const names = ['localhost', '127.0.0.1', '[::1]', inAddress(host).toLowerCase()]
  return names.flatMap((name) => [`${name}:${port}`, ...(port === 80 ? [name] : [])])
}

function inAddress(host: string): string {
  return isIPv6(host) ? `[${host}]` : host
}

function tokenMissing(host: string): OutboxError {
  return new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `The dashboard needs a token on "${host}", because other machines can reach this address. ` +
      'Set the option "token" (on the command line SENDOFF_TOKEN or --token) to a secret of at least 16 characters, or use 127.0.0.1.',
  )
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A user id without an entry, as in some containers.
    return `user ${process.getuid?.() ?? ''}`.trim()
  }
}
