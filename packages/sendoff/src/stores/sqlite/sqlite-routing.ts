import { type OutboxRouting, routingName } from '../../store/index.ts'
import { assertRevision, routingRevision } from '../schema-revision.ts'
import type { OwnDriver } from './drivers/own-driver.ts'
import { placeOf } from './schema/migrations.ts'
import type { SqliteTables } from './schema/sqlite-tables.ts'
import { knownControls } from './sqlite-controls.ts'

/** The routing of an SQLite store. */
export function sqliteRouting(own: OwnDriver, tables: SqliteTables): OutboxRouting {
  return {
    publish: (routing) =>
      own.write((statements, now) => {
        const schema = statements.schemaRevision.get() as { value: string } | undefined
        assertRevision(placeOf(tables), Number(schema?.value ?? 0), routingRevision)
        const stored = knownControls(statements).routing
        if (stored !== null && stored.version >= routing.version) return stored

        const name = routingName(routing.version)
        statements.addRouting.run(name, routing.content, now)
        statements.forgetOldRouting.run(name)
        statements.raiseOldestCode.run(String(routingRevision), String(routingRevision))
        return routing
      }),
    current: () => own.read((statements) => knownControls(statements).routing),
  }
}
