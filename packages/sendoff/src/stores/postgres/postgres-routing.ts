import { routingName, type OutboxRouting, type StoredRouting } from '../../store/index.ts'
import { assertRevision, routingRevision } from '../schema-revision.ts'
import type { PostgresDriver, PostgresSession } from './drivers/postgres-driver.ts'
import { knownControls } from './postgres-controls.ts'
import { placeOf } from './schema/migrations.ts'
import type { PostgresTables } from './schema/postgres-tables.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** The routing of a PostgreSQL store. */
export function postgresRouting<Tx extends object>(
  driver: PostgresDriver<Tx>,
  statements: PostgresStatements,
  tables: PostgresTables,
): OutboxRouting {
  return {
    publish: (routing) =>
      driver.transaction(async (tx) => {
        const session = driver.session(tx)
        const [stored] = await session.run(statements.schemaRevision)
        assertRevision(placeOf(tables), Number(stored?.[0] ?? 0), routingRevision)
        await session.run(statements.publishRouting, [routingName(routing.version), routing.content])
        await session.run(statements.raiseOldestCode, [String(routingRevision)])
        return (await current(session)) ?? routing
      }),
    current: () => current(driver),
  }

  async function current(session: PostgresSession): Promise<StoredRouting | null> {
    return knownControls(await session.run(statements.routing)).routing
  }
}
