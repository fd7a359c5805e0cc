import { type OutboxRouting, routingName } from '../../store/index.ts'
import { assertRevision, routingRevision } from '../schema-revision.ts'
import type { StoreDriver } from './drivers/mysql-driver.ts'
import { knownControls } from './mysql-controls.ts'
import { placeOf } from './schema/migrations.ts'
import type { MysqlTables } from './schema/mysql-tables.ts'
import type { MysqlStatements } from './sql/statements.ts'

/** The routing of a MySQL store. */
export function mysqlRouting(
  driver: StoreDriver,
  statements: MysqlStatements,
  tables: MysqlTables,
): OutboxRouting {
  return {
    publish: (routing) =>
      driver.briefly(async (session) => {
        const { rows } = await session.run(statements.schemaRevision)
        assertRevision(placeOf(tables), Number(rows[0]?.[0] ?? 0), routingRevision)
        // No other process publishes until the end of the transaction.
        await session.run(statements.lockNodes)
        const name = Buffer.from(routingName(routing.version))
        const stored = (await knownControls(session, statements)).routing
        if (stored !== null && stored.version >= routing.version) return stored

        await session.run(statements.addRouting, [name, routing.content])
        await session.run(statements.forgetOldRouting, [name])
        await session.run(statements.raiseOldestCode, Array(3).fill(String(routingRevision)))
        return routing
      }),
    current: async () => (await knownControls(driver, statements)).routing,
  }
}
