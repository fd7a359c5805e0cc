import net from 'node:net'
import { describe, it } from 'node:test'
import { ok } from 'node:assert/strict'
import pg from 'pg'
import postgres from 'postgres'
import { usualDoctorRequest } from '../../../src/store/index.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { silentConnectionChecks } from '../../fixtures/silent-connections.ts'

const serverUrl = () => process.env['POSTGRES_URL']!
let made = 0

describe('postgres store: connections that are dead', () => {
  let schema: string

  silentConnectionChecks({
    name: 'pg',
    serverUrl,
    async open(test, url) {
      const isFirst = url !== serverUrl()
      if (isFirst) schema = `silent_${process.pid}_${++made}`
      const pool = new pg.Pool({ connectionString: url })
      const { schema: name } = { schema }
      test.after(async () => {
        if (!isFirst) await pool.query(`drop schema if exists "${name}" cascade`)
        await pool.end()
      })
      return postgresStore({ client: pool, schema })
    },
  })

  silentConnectionChecks({
    name: 'postgres.js, with sockets that have a timeout',
    serverUrl,
    async open(test, url) {
      const isFirst = url !== serverUrl()
      if (isFirst) schema = `silent_${process.pid}_${++made}`
      const sql = postgres(url, { onnotice() {}, socket: impatientSocket } as postgres.Options<
        Record<string, never>
      >)
      const { schema: name } = { schema }
      test.after(async () => {
        if (!isFirst) await sql`drop schema if exists ${sql(name)} cascade`
        // postgres.js asks each new connection for its types. Ending it meanwhile causes a rejection that no code handles.
        await sql.end({ timeout: 5 })
      })
      return postgresStore({ client: sql, schema })
    },
  })

  it('is warned of where postgres.js has sockets without a timeout', async (test) => {
    const plain = postgres(serverUrl())
    const impatient = postgres(serverUrl(), { socket: impatientSocket } as postgres.Options<
      Record<string, never>
    >)
    test.after(() => Promise.all([plain.end(), impatient.end()]))

    const codes = async (client: postgres.Sql) =>
      (await postgresStore({ client }).doctor!(usualDoctorRequest)).map(({ code }) => code)
    ok((await codes(plain)).includes('CONNECTIONS_UNENDING'))
    ok(!(await codes(impatient)).includes('CONNECTIONS_UNENDING'))
  })
})

/** As the page of the store advises. */
function impatientSocket({ host, port }: { host: string[]; port: number[] }): Promise<net.Socket> {
  const socket = net.connect(port[0]!, host[0])
  socket.setTimeout(1_000, () => socket.destroy())
  return new Promise((resolve, reject) => {
    socket.once('connect', () => resolve(socket))
    socket.once('error', reject)
  })
}
