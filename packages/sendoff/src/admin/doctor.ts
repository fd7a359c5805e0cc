import type { Clock } from '../clock.ts'
import { describeWithin } from '../describe-error.ts'
import { durationText } from '../duration-text.ts'
import { OutboxError } from '../errors.ts'
import { checkOptions, durationOrZero } from '../options.ts'
import {
  type DoctorRequest,
  type Finding,
  type FindingSeverity,
  type LivingProcess,
  type MinuteStatistics,
  type OutboxStore,
  type Tally,
  usualDoctorRequest,
} from '../store/index.ts'
import { sendoffVersion } from '../version.ts'
import { countBound } from './limits.ts'
import { typesWithoutListener } from './overview.ts'

/** Options of `admin.doctor`. */
export interface DoctorOptions {
  /** How many milliseconds a transaction may be open before it is a finding. Default: 5 minutes. */
  readonly longTransactionMs?: number
  /** How many bytes of an index or a database file may be empty. Default: 64 MiB. */
  readonly bloatBytes?: number
}

/** The minutes over which DEAD events count as new. */
const growthMinutes = 15

/** How far clocks may be apart, in milliseconds. */
const clockMarginMs = 2_000

/** How far the clock of another process may be apart: its reports tell the time of its start only roughly. */
const startMarginMs = 10_000

const maxStatistics = 10_000

/** With one of these, the tables cannot be read, or a count would read all of them. */
const unreadable = new Set<string>([
  'SCHEMA_MISSING',
  'SCHEMA_INCOMPLETE',
  'SCHEMA_TOO_NEW',
  'INDEX_MISSING',
  'INDEX_ALTERED',
  'INDEX_INVALID',
])

const bySeverity: readonly FindingSeverity[] = ['error', 'warning', 'info']

/** Checks the options of `admin.doctor`. */
export function doctorRequest(options: DoctorOptions): DoctorRequest {
  checkOptions('doctor', options, { longTransactionMs: durationOrZero, bloatBytes: durationOrZero })
  return { ...usualDoctorRequest, ...options }
}

/** Returns everything that is wrong with an outbox and its database, the worst first. */
export async function examineOutbox<Tx>(
  store: OutboxStore<Tx>,
  clock: Clock,
  request: DoctorRequest,
): Promise<readonly Finding[]> {
  const findings = [...((await store.doctor?.(request)) ?? [])]
  if (!findings.some(({ code }) => unreadable.has(code))) findings.push(...(await inUse(store, clock)))
  return findings.sort((a, b) => bySeverity.indexOf(a.severity) - bySeverity.indexOf(b.severity))
}

// What a schema before its migration cannot show is no finding of its own: SCHEMA_BEHIND says it.
async function inUse<Tx>(store: OutboxStore<Tx>, clock: Clock): Promise<readonly Finding[]> {
  try {
    const { looks, reports } = store
    const before = clock.now()
    const tally = await looks?.tally({ bound: countBound })
    const aheadMs = tally === undefined ? 0 : tally.at - (before + clock.now()) / 2
    const processes = (await reports?.living()) ?? []
    const lastMs = growthMinutes * 60_000
    const statistics = (await reports?.statistics({ lastMs, limit: maxStatistics })) ?? []
    return [
      ...(tally === undefined || reports === undefined ? [] : workerFindings(tally, processes)),
      ...processFindings(processes),
      ...growthFindings(statistics),
      ...clockFindings(aheadMs, processes),
    ]
  } catch (error) {
    if (error instanceof OutboxError && error.code === 'OUTBOX_SCHEMA_NOT_READY') return []
    if (store.refusedWrite?.(error) !== true) throw error
    return [
      {
        code: 'RIGHTS_MISSING',
        severity: 'info',
        message: `The database user may not read all tables of the outbox, so its processes and counts were not examined: ${describeWithin(error)}.`,
        fix: 'Give the user the right to select from all tables of the outbox.',
      },
    ]
  }
}

function workerFindings(tally: Tally, processes: readonly LivingProcess[]): readonly Finding[] {
  const { oldestDue, at } = tally
  if (!processes.some(({ mode }) => mode !== null)) {
    if (oldestDue === undefined) return []
    const age = durationText(at - oldestDue.availableAt)
    return [
      {
        code: 'NO_WORKER',
        severity: 'error',
        message: `Events are due, the oldest for ${age}, and no living process delivers from this table.`,
        fix: 'Start a process with an outbox that delivers, and look into the log of those that should.',
      },
    ]
  }
  const types = typesWithoutListener(tally, processes)
  if (types.length === 0) return []
  return [
    {
      code: 'TYPES_WITHOUT_LISTENER',
      severity: 'warning',
      message: `No living process has a listener for pending events of type ${some(types)}.`,
      fix: 'Deploy a process that has one. Check the spelling of the type, and its aggregate type.',
    },
  ]
}

function processFindings(processes: readonly LivingProcess[]): readonly Finding[] {
  const findings: Finding[] = []
  const modes = [...new Set(processes.flatMap(({ mode }) => mode ?? []))].sort()
  if (modes.length > 1) {
    findings.push({
      code: 'MODES_DIFFER',
      severity: 'error',
      message: `Living processes deliver in different modes: ${modes.join(', ')}. They break the promises of each other.`,
      fix: 'Stop the processes of all modes but one.',
    })
  }
  const versions = processes.map(({ report }) => report?.version)
  const newest = [sendoffVersion, ...versions.filter((version) => version !== undefined)]
    .sort(compared)
    .at(-1)!
  const old = processes.filter(({ report }) => report !== null && compared(report.version, newest) < 0)
  if (old.length > 0) {
    const names = old.map(({ id, report }) => `${id} (${report!.version})`)
    findings.push({
      code: 'VERSIONS_DIFFER',
      severity: 'warning',
      message: `Processes of an older version than ${newest} are alive: ${some(names)}.`,
      fix: 'End the deploy: update or stop them. Until then, rely on what the older version can do.',
    })
  }
  return findings
}

function growthFindings(statistics: readonly MinuteStatistics[]): readonly Finding[] {
  const dead = new Map<string, number>()
  for (const each of statistics) {
    if (each.dead > 0) dead.set(each.eventType, (dead.get(each.eventType) ?? 0) + each.dead)
  }
  if (dead.size === 0) return []
  const types = [...dead].sort(([, a], [, b]) => b - a).map(([type, count]) => `${type} ${count}`)
  return [
    {
      code: 'DEAD_GROWING',
      severity: 'warning',
      message: `Events became DEAD within the last ${growthMinutes} minutes: ${some(types)}.`,
      fix: 'Find the cause with "npx sendoff failures" or admin.failures(), mend it, and replay them.',
    },
  ]
}

function clockFindings(aheadMs: number, processes: readonly LivingProcess[]): readonly Finding[] {
  const apart = processes.filter(
    ({ report, startedAt }) =>
      report !== null && startedAt !== null && Math.abs(report.startedAt - startedAt) > startMarginMs,
  )
  const parts = [
    ...(Math.abs(aheadMs) > clockMarginMs
      ? [
          `the clock of this process is ${durationText(Math.abs(aheadMs))} ${aheadMs > 0 ? 'behind' : 'ahead'}`,
        ]
      : []),
    ...(apart.length === 0 ? [] : [`so are those of processes ${some(apart.map(({ id }) => id))}`]),
  ]
  if (parts.length === 0) return []
  return [
    {
      code: 'CLOCKS_APART',
      severity: 'info',
      message: `Clocks differ from that of the database: ${parts.join('; ')}. Delivery goes by the clock of the database; times in logs and of events do not fit it.`,
      fix: 'Keep the clocks of all machines in step, for example by NTP.',
    },
  ]
}

/** Orders versions by their numbers. */
function compared(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true })
}

function some(names: readonly string[]): string {
  const more = names.length > 5 ? ` and ${names.length - 5} more` : ''
  return `${names.slice(0, 5).join(', ')}${more}`
}
