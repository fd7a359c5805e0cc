import { temporaryFolder } from '../test/services/machine/temporary-folder.ts'
import { embeddedPostgresServer } from '../test/services/servers/postgres/postgres18.ts'

/** A PostgreSQL database, and how to leave it. */
export interface OpenPostgres {
  readonly url: string
  /** Stops the server and removes its data, if this program has started it. */
  close(): Promise<void>
}

/** Returns the database of `DATABASE_URL`. Without it, starts a private server with an empty database. */
export async function openPostgres(): Promise<OpenPostgres> {
  const url = process.env['DATABASE_URL']
  if (url !== undefined) return { url, close: async () => {} }

  const folder = temporaryFolder('postgres')
  const server = await embeddedPostgresServer(folder.path)
  return {
    url: server.url,
    async close() {
      await server.stop('fast')
      folder.remove()
    },
  }
}
