import type { LivingProcess, OutboxAdmin } from 'sendoff/admin'
import { exitCodes } from '../exit-codes.ts'
import { durationText, timeJson } from '../terminal/shown-values.ts'
import { type Column, tableText } from '../terminal/table.ts'
import type { Command } from './command-call.ts'
import type { CommonOptions } from './command-options.ts'
import { withSession } from './session.ts'

/** Prints the processes that use the table. */
export const nodes: Command<CommonOptions> = async (call) => {
  const { terminal } = call
  return withSession(call, async ({ admin }) => {
    const [processes, now] = await livingProcesses(admin)
    if (terminal.isJson) terminal.printJson({ nodes: processes.map(nodeJson) })
    else if (processes.length === 0) terminal.note('No process uses this table now.')
    else terminal.print(tableText(processes, nodeColumns(now), terminal))
    return exitCodes.done
  })
}

async function livingProcesses(
  admin: OutboxAdmin<unknown>,
): Promise<readonly [processes: readonly LivingProcess[], now: number]> {
  const { processes, at } = await admin.overview()
  return [processes, at]
}

/** A process for machines. */
export function nodeJson({ startedAt, reportedAt, report, ...same }: LivingProcess): object {
  return {
    ...same,
    startedAt: timeJson(startedAt),
    reportedAt: timeJson(reportedAt),
    report:
      report === null
        ? null
        : { ...report, startedAt: timeJson(report.startedAt), listenerBuckets: undefined },
  }
}

function nodeColumns(now: number): readonly Column<LivingProcess>[] {
  const number = (value: number | undefined) => (value === undefined ? '-' : String(value))
  return [
    { title: 'process', value: ({ id }) => id },
    { title: 'mode', value: ({ mode }) => mode ?? 'only writes' },
    { title: 'host', value: ({ report }) => report?.host ?? '-' },
    { title: 'pid', value: ({ report }) => number(report?.pid), align: 'right' },
    { title: 'version', value: ({ report }) => report?.version ?? '-' },
    { title: 'up', value: ({ startedAt }) => (startedAt === null ? '-' : durationText(now - startedAt)) },
    {
      title: 'held',
      value: ({ report }) => number(report ? report.held.leased + report.held.locked : undefined),
      align: 'right',
    },
    {
      title: 'queued',
      value: ({ report }) => number(report ? report.queues.hot + report.queues.cold : undefined),
      align: 'right',
    },
    { title: 'partitions', value: ({ report }) => number(report?.partitions), align: 'right' },
    { title: 'listens to', value: ({ report }) => listensTo(report) },
  ]
}

function listensTo(report: LivingProcess['report']): string {
  if (report === null) return '-'
  return report.types === null ? 'all types' : report.types.join(', ') || 'nothing'
}
