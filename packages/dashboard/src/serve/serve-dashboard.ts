import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { userInfo } from 'node:os'
import { dashboard } from '../dashboard.ts'
import type { DashboardOptions } from '../dashboard-options.ts'
import type { Role } from '../guard/visitor.ts'
import { nodeListener } from './node-handler.ts'

/** Options of `serveDashboard`: those of `dashboard` without `authorize`, and where to listen. */
export interface ServeDashboardOptions extends Omit<DashboardOptions, 'authorize' | 'basePath' | 'origins'> {
  /** The port on the loopback address. Default: 0, any that is free. */
  readonly port?: number
  /** The name for the audit. Default: the user of this process. */
  readonly actor?: string
  /** What the visitor may do. Default: `admin`. */
  readonly role?: Role
}

/** A dashboard that listens. */
export interface ServedDashboard {
  /** The address of the page. */
  readonly url: string
  /** Stops listening, and ends all connections. */
  close(): Promise<void>
}

/** Defaults of `serveDashboard`. */
export const serveDashboardDefaults = { port: 0, role: 'admin' } as const

/**
 * Serves the dashboard on the loopback address of this machine, without a login: for the person who starts
 * it. It refuses requests whose `Host` is another name. So no web site can reach it through a name that leads
 * to this machine.
 */
export async function serveDashboard(options: ServeDashboardOptions): Promise<ServedDashboard> {
  const { port, role, actor = userName(), ...rest } = { ...serveDashboardDefaults, ...options }
  let hosts: readonly string[] = []
  const handler = dashboard({
    ...rest,
    authorize: (request) => {
      if (hosts.includes(request.headers.get('host') ?? '')) return { actor, role }
      return new Response('This address is not served here.', { status: 421 })
    },
  })
  const server = createServer(nodeListener(handler))
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const { port: bound } = server.address() as AddressInfo
  hosts = [`127.0.0.1:${bound}`, `localhost:${bound}`]

  return {
    url: `http://127.0.0.1:${bound}/`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A user id without an entry, as in some containers.
    return `user ${process.getuid?.() ?? ''}`.trim()
  }
}
