import { type MigrationLock, migrationLockName } from '../../sql/migration-lock.ts'
import type { PostgresSession } from '../drivers/postgres-driver.ts'
import { timeIn } from '../sql/row-conditions.ts'
import type { PostgresTables } from './postgres-tables.ts'

/** The lock row of online steps on PostgreSQL. */
export function migrationLock(session: PostgresSession, { lock }: PostgresTables): MigrationLock {
  // $1 token, $2 milliseconds. By primary key.
  const take = `
  insert into ${lock} as held (name, token, until)
  values ('${migrationLockName}', $1, ${timeIn('$2')})
      on conflict (name) do update set token = excluded.token, until = excluded.until
   where held.token = excluded.token or held.until <= clock_timestamp()
  returning 1`
  // $1 token. By primary key.
  const release = `delete from ${lock} where name = '${migrationLockName}' and token = $1`

  return {
    take: async (token, ms) => (await session.run({ text: take }, [token, String(ms)])).length > 0,
    release: async (token) => void (await session.run({ text: release }, [token])),
  }
}
