import { findProgram } from '../../machine/find-program.ts'
import { PrivateServer } from '../private-server.ts'
import { stablePort } from '../../machine/stable-port.ts'

export interface RedisServerOptions {
  /** Exists; the data is kept in it. */
  readonly folder: string
  /** `everyWrite` is on disk before it is answered; `none` keeps nothing. */
  readonly persistence: 'everyWrite' | 'none'
  /** Further settings, as in `{ maxmemory: '4mb' }`. */
  readonly settings?: Readonly<Record<string, string>>
}

export type RedisServer = PrivateServer

/** Starts a server of one's own. */
export async function redisServer({
  folder,
  persistence,
  settings = {},
}: RedisServerOptions): Promise<RedisServer> {
  const command = findProgram('redis-server')
  if (command === undefined) throw new Error("There is no Redis here. Install Debian's redis-server.")

  const port = await stablePort()
  const all = {
    port: String(port),
    bind: '127.0.0.1',
    dir: folder,
    save: '',
    appendonly: persistence === 'none' ? 'no' : 'yes',
    appendfsync: 'always',
    ...settings,
  }
  const server = new PrivateServer({
    port,
    url: `redis://127.0.0.1:${port}`,
    command,
    args: Object.entries(all).flatMap(([name, value]) => [`--${name}`, value]),
    readyOutput: /Ready to accept connections/,
    cwd: folder,
  })
  await server.start()
  return server
}
