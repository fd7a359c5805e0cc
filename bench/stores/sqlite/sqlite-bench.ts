import { drainSubjects } from '../../suites/drain.ts'
import { idleSubjects } from '../../suites/idle.ts'
import { latencySubjects } from '../../suites/latency.ts'
import { writeSubjects } from '../../suites/write.ts'
import type { StoreBench } from '../../store-bench.ts'
import { limitDrains } from './limit-drains.ts'
import { limitInsert } from './limit-insert.ts'
import { drivers, openSqlite } from './sqlite-database.ts'

export const sqliteBench: StoreBench = {
  name: 'sqlite',
  drivers,
  suites: {
    drain: { subjects: [...drainSubjects(openSqlite), ...limitDrains], limit: 'limit-claim-update' },
    write: { subjects: [...writeSubjects(openSqlite), limitInsert], limit: 'limit-insert' },
    latency: { subjects: latencySubjects(openSqlite) },
    idle: { subjects: idleSubjects(openSqlite) },
  },
}
