import type { OutboxReports, ReportRequest } from '../../store/index.ts'
import { readReport } from '../report-text.ts'
import { needingRevision } from '../schema-revision.ts'
import type { StoreDriver } from './drivers/mysql-driver.ts'
import { lacksSchema } from './mysql-errors.ts'
import { placeOf } from './schema/migrations.ts'
import type { MysqlTables } from './schema/mysql-tables.ts'
import { rowLimit } from './sql/row-limit.ts'
import { ageValue, timeValue } from './sql/statement-values.ts'
import type { MysqlStatements } from './sql/statements.ts'

/** The reports and statistics of a MySQL store. */
export function mysqlReports(
  driver: StoreDriver,
  statements: MysqlStatements,
  tables: MysqlTables,
): OutboxReports {
  const needed = { place: placeOf(tables), revision: 2, lacksSchema }

  return {
    report: (request) =>
      needingRevision(needed, () =>
        driver.briefly(async (session) => {
          const { id, report, statistics } = request
          await session.run(statements.report, [JSON.stringify(report), id])
          if (statistics.length > 0) {
            await session.run(statements.addStatistics(statistics.length), statisticsValues(request))
          }
          const { rows } = await session.run(statements.isLiving, [id])
          return { isLiving: Number(rows[0]![1]) === 1, now: Number(rows[0]![0]) }
        }),
      ),

    living: () =>
      needingRevision(needed, async () =>
        (await driver.run(statements.livingNodes)).rows.map(
          ([id, mode, startedAt, ttlMs, report, reportedAt]) => ({
            id: String(id),
            mode: mode as string | null,
            startedAt: Number(startedAt),
            ttlMs: Number(ttlMs),
            report: readReport(report as string | null),
            reportedAt: reportedAt === null ? null : Number(reportedAt),
          }),
        ),
      ),

    statistics: ({ lastMs, limit }) =>
      needingRevision(needed, async () =>
        (await driver.run(statements.statistics(rowLimit(limit)), [ageValue(lastMs)])).rows.map((row) => ({
          minute: Number(row[0]),
          node: String(row[1]),
          eventType: String(row[2]),
          destination: String(row[3]),
          done: Number(row[4]),
          failed: Number(row[5]),
          dead: Number(row[6]),
          deferred: Number(row[7]),
          hot: Number(row[8]),
          listenerMs: Number(row[9]),
          listenerBuckets: String(row[10]),
          deliveryBuckets: String(row[11]),
        })),
      ),

    forgetStatistics: ({ olderThanMs, limit }) =>
      needingRevision(
        needed,
        async () =>
          (await driver.run(statements.forgetStatistics(rowLimit(limit)), [ageValue(olderThanMs)]))
            .affectedRows,
      ),
  }
}

function statisticsValues({ id, statistics }: ReportRequest): (string | number)[] {
  return statistics.flatMap((each) => [
    timeValue(each.minute),
    id,
    each.eventType,
    each.destination,
    each.done,
    each.failed,
    each.dead,
    each.deferred,
    each.hot,
    each.listenerMs,
    each.listenerBuckets,
    each.deliveryBuckets,
  ])
}
