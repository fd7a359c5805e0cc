import { adminSuite } from '../../suites/admin.ts'
import { drainSubjects } from '../../suites/drain.ts'
import { twoDestinationSubjects } from '../../suites/two-destinations.ts'
import { idleSubjects } from '../../suites/idle.ts'
import { inboxSuite } from '../../suites/inbox.ts'
import { latencySubjects } from '../../suites/latency.ts'
import { observeSuite } from '../../suites/observe.ts'
import { steadySubjects } from '../../suites/steady/steady-systems.ts'
import { writeSubjects } from '../../suites/write.ts'
import type { StoreBench } from '../../store-bench.ts'
import { sqliteAdminTables } from './admin-tables.ts'
import { sqliteInboxTables } from './inbox-tables.ts'
import { limitDrains } from './limit-drains.ts'
import { limitInsert } from './limit-insert.ts'
import { drivers, sqliteDatabases } from './sqlite-database.ts'

const databases = sqliteDatabases()

export const sqliteBench: StoreBench = {
  name: 'sqlite',
  drivers,
  rounds: 5,
  suites: {
    observe: observeSuite(databases),
    drain: { subjects: [...drainSubjects(databases), ...limitDrains], limit: 'limit-claim-update' },
    destinations: { subjects: twoDestinationSubjects(databases), limit: 'sendoff-two-tables' },
    write: { subjects: [...writeSubjects(databases), limitInsert], limit: 'limit-insert' },
    admin: adminSuite(databases, sqliteAdminTables),
    inbox: inboxSuite(databases, sqliteInboxTables),
    latency: { subjects: latencySubjects(databases) },
    steady: { subjects: steadySubjects(databases), rounds: 1, drawsSeconds: true },
    idle: { subjects: idleSubjects(sqliteDatabases({ countStatements: true })) },
  },
}
