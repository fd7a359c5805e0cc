import { Client } from 'pg'
import { postgres } from '../../services/servers/postgres/postgres.ts'
import { describeServerSite } from './describe-server-site.ts'
import { postgresSite } from './postgres-site.ts'

describeServerSite({
  name: 'PostgreSQL',
  // If the address of a server is given, this machine may have none that the test can harm.
  skip: !(await postgres.find()) && 'PostgreSQL itself is not on this machine',
  make: postgresSite,
  restarts: ['fastRestart', 'immediateRestart', 'crash'],
  heldSnapshots: `select 1 from pg_stat_activity where state = 'idle in transaction' and backend_xmin is not null`,

  async open(location) {
    const client = new Client(location)
    client.on('error', () => {})
    await client.connect()
    return { run: async (sql) => (await client.query(sql)).rows, end: () => client.end() }
  },
})
