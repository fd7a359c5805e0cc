import type { OutboxReports } from '../../store/index.ts'
import { readReport, statisticsText } from '../report-text.ts'
import { needingRevision } from '../schema-revision.ts'
import type { PostgresDriver } from './drivers/postgres-driver.ts'
import { lacksSchema } from './postgres-errors.ts'
import { placeOf } from './schema/migrations.ts'
import type { PostgresTables } from './schema/postgres-tables.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** The reports and statistics of a PostgreSQL store. */
export function postgresReports<Tx extends object>(
  driver: PostgresDriver<Tx>,
  statements: PostgresStatements,
  tables: PostgresTables,
): OutboxReports {
  const needed = { place: placeOf(tables), revision: 2, lacksSchema }

  return {
    report: ({ id, report, statistics }) =>
      needingRevision(needed, async () => {
        const values = [id, JSON.stringify(report), statisticsText(statistics)]
        const [row] = await driver.run(statements.report, values)
        return { isLiving: row![0] === 't' || row![0] === 'true', now: Number(row![1]) }
      }),

    living: () =>
      needingRevision(needed, async () =>
        (await driver.run(statements.livingNodes)).map(
          ([id, mode, startedAt, ttlMs, report, reportedAt]) => ({
            id: id!,
            mode: mode!,
            startedAt: Number(startedAt),
            ttlMs: Number(ttlMs),
            report: readReport(report),
            reportedAt: reportedAt === null ? null : Number(reportedAt),
          }),
        ),
      ),

    statistics: ({ lastMs, limit }) =>
      needingRevision(needed, async () =>
        (await driver.run(statements.statistics, [String(lastMs), String(limit)])).map((row) => ({
          minute: Number(row[0]),
          node: row[1]!,
          eventType: row[2]!,
          destination: row[3]!,
          done: Number(row[4]),
          failed: Number(row[5]),
          dead: Number(row[6]),
          deferred: Number(row[7]),
          hot: Number(row[8]),
          listenerMs: Number(row[9]),
          listenerBuckets: row[10]!,
          deliveryBuckets: row[11]!,
        })),
      ),

    forgetStatistics: ({ olderThanMs, limit }) =>
      needingRevision(needed, async () => {
        const [row] = await driver.run(statements.forgetStatistics, [String(olderThanMs), String(limit)])
        return Number(row![0])
      }),
  }
}
