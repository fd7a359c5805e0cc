import type { LivingProcess, MinuteStatistics, OutboxReports } from '../../store/index.ts'
import { readReport, statisticsText } from '../report-text.ts'
import { needingRevision } from '../schema-revision.ts'
import type { OwnDriver } from './drivers/own-driver.ts'
import { placeOf } from './schema/migrations.ts'
import type { SqliteTables } from './schema/sqlite-tables.ts'
import { lacksSchema } from './sqlite-errors.ts'

interface NodeRow extends Omit<LivingProcess, 'ttlMs' | 'report'> {
  readonly until: number
  readonly report: string | null
}

/** The reports and statistics of an SQLite store. */
export function sqliteReports(own: OwnDriver, tables: SqliteTables): OutboxReports {
  const needed = { place: placeOf(tables), revision: 2, lacksSchema }

  return {
    report: ({ id, report, statistics }) =>
      needingRevision(needed, () =>
        own.write((statements, now) => {
          const { changes } = statements.report.run(JSON.stringify(report), now, id, now)
          if (statistics.length > 0) statements.addStatistics.run(id, statisticsText(statistics))
          return { isLiving: Number(changes) > 0, now }
        }),
      ),

    living: () =>
      needingRevision(needed, () =>
        own.read(({ livingNodes }, now) =>
          (livingNodes.all(now) as NodeRow[]).map(({ until, report, ...node }) => ({
            ...node,
            ttlMs: until - now,
            report: readReport(report),
          })),
        ),
      ),

    statistics: ({ lastMs, limit }) =>
      needingRevision(needed, () =>
        own.read(({ statistics }, now) =>
          (statistics.all(Math.ceil(now - lastMs), limit) as MinuteStatistics[]).map((row) => ({ ...row })),
        ),
      ),

    forgetStatistics: ({ olderThanMs, limit }) =>
      needingRevision(needed, () =>
        own.write(({ forgetStatistics }, now) =>
          Number(forgetStatistics.run(Math.floor(now - olderThanMs), limit).changes),
        ),
      ),
  }
}
