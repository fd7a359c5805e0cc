import { findProgram } from '../../machine/find-program.ts'
import { PrivateServer } from '../private-server.ts'
import { stablePort } from '../../machine/stable-port.ts'

export interface RedisServerOptions {
  /** An existing folder for the data. */
  readonly folder: string
  /** With `everyWrite` a write is on disk before the reply; `none` stores nothing. */
  readonly persistence: 'everyWrite' | 'none'
  /** Further settings, such as `{ maxmemory: '4mb' }`. */
  readonly settings?: Readonly<Record<string, string>>
}

export type RedisServer = PrivateServer

/** Starts a private server. */
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
