import { adminSuite } from '../../suites/admin.ts'
import { drainSubjects } from '../../suites/drain.ts'
import { idleSubjects } from '../../suites/idle.ts'
import { latencySubjects } from '../../suites/latency.ts'
import { writeSubjects } from '../../suites/write.ts'
import type { StoreBench } from '../../store-bench.ts'
import { sqliteAdminTables } from './admin-tables.ts'
import { limitDrains } from './limit-drains.ts'
import { limitInsert } from './limit-insert.ts'
import { drivers, sqliteDatabases } from './sqlite-database.ts'

const databases = sqliteDatabases()

export const sqliteBench: StoreBench = {
  name: 'sqlite',
  drivers,
  rounds: 5,
  suites: {
    drain: { subjects: [...drainSubjects(databases), ...limitDrains], limit: 'limit-claim-update' },
    write: { subjects: [...writeSubjects(databases), limitInsert], limit: 'limit-insert' },
    admin: adminSuite(databases, sqliteAdminTables),
    latency: { subjects: latencySubjects(databases) },
    idle: { subjects: idleSubjects(sqliteDatabases({ countStatements: true })) },
  },
}
