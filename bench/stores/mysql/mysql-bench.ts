import { mariadb } from '../../../test/services/servers/mariadb/mariadb.ts'
import { mysql } from '../../../test/services/servers/mysql/mysql.ts'
import { isOnMysql } from '../../../test/services/servers/mysql/on-mysql.ts'
import type { StoreBench } from '../../store-bench.ts'
import { adminSuite } from '../../suites/admin.ts'
import { drainSubjects } from '../../suites/drain.ts'
import { twoDestinationSubjects } from '../../suites/two-destinations.ts'
import { growthSuite } from '../../suites/growth.ts'
import { inboxSuite } from '../../suites/inbox.ts'
import { idleSubjects } from '../../suites/idle.ts'
import { latencySubjects } from '../../suites/latency.ts'
import { observeSuite } from '../../suites/observe.ts'
import { steadySubjects } from '../../suites/steady/steady-systems.ts'
import { writeSubjects } from '../../suites/write.ts'
import { mysqlAdminTables, mysqlGrownTables } from './grown-tables.ts'
import { mysqlInboxTables } from './inbox-tables.ts'
import { limitDrains } from './limit-drains.ts'
import { limitInsert } from './limit-insert.ts'
import { mysqlDatabases } from './mysql-database.ts'
import { dropDatabases, serverCpuUs, statementCount } from './mysql-server.ts'

export const mysqlBench: StoreBench = {
  name: 'mysql',
  drivers: ['mysql2'],
  rounds: 3,
  services: [process.env[mysql.urlVariable] === undefined && !isOnMysql ? mariadb : mysql],
  suites: {
    observe: observeSuite(mysqlDatabases),
    drain: { subjects: [...drainSubjects(mysqlDatabases), ...limitDrains], limit: 'limit-claim-update' },
    destinations: { subjects: twoDestinationSubjects(mysqlDatabases), limit: 'sendoff-two-tables' },
    write: {
      subjects: [...writeSubjects(mysqlDatabases, { concurrent: true, serverCpuUs }), limitInsert],
      limit: 'limit-insert',
    },
    admin: adminSuite(mysqlDatabases, mysqlAdminTables),
    inbox: inboxSuite(mysqlDatabases, mysqlInboxTables, { concurrent: true, serverCpuUs }),
    latency: { subjects: latencySubjects(mysqlDatabases) },
    steady: {
      subjects: steadySubjects(mysqlDatabases, async () => ({ statements: await statementCount() })),
      rounds: 1,
      drawsSeconds: true,
    },
    idle: { subjects: idleSubjects(mysqlDatabases), seconds: 20 },
    growth: growthSuite(mysqlDatabases, mysqlGrownTables, [
      '1m-done',
      '1m-done-snapshot',
      'waiting',
      'leased',
    ]),
  },
  cleanUp: dropDatabases,
}
