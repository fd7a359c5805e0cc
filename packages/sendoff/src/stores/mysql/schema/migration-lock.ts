import { type MigrationLock, migrationLockName } from '../../sql/migration-lock.ts'
import type { MysqlSession } from '../drivers/mysql-driver.ts'
import { now, timeIn } from '../sql/row-conditions.ts'
import { durationValue } from '../sql/statement-values.ts'
import type { MysqlTables } from './mysql-tables.ts'

/** The lock row of online steps on MySQL. */
export function migrationLock(session: MysqlSession, { lock }: MysqlTables): MigrationLock {
  // ? token, timeIn, ? token, ? token, timeIn. By primary key. The server assigns from left to right: the
  // time changes only if the token is this one by then.
  const take = `
  insert into ${lock} (name, token, \`until\`)
  values ('${migrationLockName}', ?, ${timeIn})
      on duplicate key update token = if(\`until\` <= ${now}, ?, token),
                              \`until\` = if(token = ?, ${timeIn}, \`until\`)`
  // ? token. By primary key.
  const isTaken = `select 1 from ${lock} where name = '${migrationLockName}' and token = ?`
  // ? token. By primary key.
  const release = `delete from ${lock} where name = '${migrationLockName}' and token = ?`

  return {
    async take(token, ms) {
      const until = durationValue(ms)
      await session.run(take, [token, until, token, token, until])
      return (await session.run(isTaken, [token])).rows.length > 0
    },
    release: async (token) => void (await session.run(release, [token])),
  }
}
