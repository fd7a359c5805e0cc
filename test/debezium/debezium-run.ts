import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { MessageReceiver, type RoutedMessage } from '../../examples/debezium/message-receiver.ts'
import { RelayProcess } from '../../examples/debezium/relay-process.ts'
import { Outbox, type RoutingOptions, type WriterOutbox } from '../../packages/sendoff/src/index.ts'
import { postgresStore } from '../../packages/sendoff/src/stores/postgres/index.ts'
import { temporaryFolder } from '../services/machine/temporary-folder.ts'
import type { PostgresServer } from '../services/servers/postgres/postgres-server.ts'
import { debianPostgresServer } from '../services/servers/postgres/postgres.ts'

const page = readFileSync(new URL('../../docs/debezium.md', import.meta.url), 'utf8')

/** Returns a block of a language below a heading of `docs/debezium.md`: the first, unless `index` says else. */
export function pageBlock(heading: string, language: string, index = 0): string {
  const below = page.slice(page.indexOf(`\n${heading}\n`))
  const blocks = [...below.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))]
  return blocks[index]![1]!
}

/** Returns the settings in such a block, by their names. */
export function pageSettings(heading: string, index = 0): Record<string, string> {
  return settingsOf(pageBlock(heading, 'properties', index))
}

/** Returns the settings of a file, by their names. */
export function settingsOf(properties: string): Record<string, string> {
  const lines = properties.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
}

/** A private PostgreSQL, a table that is only written, and relays that read it. All of it ends with the test. */
export interface DebeziumRun {
  readonly server: PostgresServer
  readonly pool: pg.Pool
  readonly outbox: WriterOutbox<pg.PoolClient, pg.PoolClient>
  /** Starts a relay that posts to `handle`. */
  readonly relay: (
    handle: (message: RoutedMessage) => Promise<unknown>,
    settings?: Readonly<Record<string, string>>,
  ) => Promise<RelayProcess>
}

export async function debeziumRun(
  t: TestContext,
  options: { readonly routing?: RoutingOptions } = {},
): Promise<DebeziumRun> {
  const folder = temporaryFolder('debezium')
  const server = await debianPostgresServer(folder.path)
  const pool = new pg.Pool({ connectionString: server.url })
  const store = postgresStore({ client: pool })
  const outbox = await Outbox.writerOnly({ store, logger: false, ...options }).start()
  const ends: (() => Promise<void> | void)[] = []
  t.after(async () => {
    for (const end of ends) await end()
    await outbox.close()
    await pool.end()
    await server.stop('immediate')
    folder.remove()
  })
  return {
    server,
    pool,
    outbox,
    async relay(handle, settings = {}) {
      const receiver = await MessageReceiver.start(handle)
      const relay = new RelayProcess({
        databaseUrl: server.url,
        consumerUrl: receiver.url,
        offsetsFile: join(folder.path, `offsets-${ends.length}`),
        settings,
      })
      ends.push(async () => {
        await relay.stop()
        receiver.close()
      })
      return relay
    },
  }
}
