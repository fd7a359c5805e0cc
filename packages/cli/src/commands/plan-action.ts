import type { OutboxAdmin, Plan, PlanProgress, PlanResult, RowAction, RunOptions } from 'sendoff/admin'
import { CommandError, usageError } from '../command-error.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { printable } from '../terminal/printable.ts'
import { progressText } from '../terminal/progress-bar.ts'
import { countText, cut, durationText } from '../terminal/shown-values.ts'
import type { Command, CommandCall } from './command-call.ts'
import type { CommonOptions, FilterOptions } from './command-options.ts'
import { confirm } from './confirm.ts'
import { filterOf } from './event-filter.ts'
import { withSession } from './session.ts'
import { stopSignal } from './stop-signal.ts'
import { positiveNumber } from './whole-number.ts'

/** Options of `replay`, `cancel`, `skip` and `purge`. */
export interface PlanActionOptions extends CommonOptions, FilterOptions {
  readonly all?: boolean
  readonly reason?: string
  readonly rate?: string
  readonly dryRun?: boolean
  readonly yes?: boolean
  readonly plan?: string
}

const words: Readonly<Record<RowAction, { readonly what: string; readonly question: string }>> = {
  replay: { what: 'replayed', question: 'Replay them' },
  cancel: { what: 'cancelled', question: 'Cancel them' },
  skip: { what: 'skipped', question: 'Skip them, so that they are DEAD and their keys continue' },
  purge: { what: 'deleted', question: 'Delete them for ever' },
}

/** Returns the command for an action: it plans, shows, asks, and runs. */
export function planAction(action: RowAction): Command<PlanActionOptions> {
  return async (call) => {
    const { options } = call
    const rate = options.rate === undefined ? {} : { ratePerSecond: positiveNumber('--rate', options.rate) }
    if (options.dryRun && options.yes)
      throw usageError('--dry-run and --yes contradict each other. Choose one.')
    return options.plan === undefined ? runNew(action, call, rate) : resume(action, call, options.plan, rate)
  }
}

type Rate = Pick<RunOptions, 'ratePerSecond'>

async function runNew(
  action: RowAction,
  call: CommandCall<PlanActionOptions>,
  rate: Rate,
): Promise<ExitCode> {
  const { options, terminal } = call
  const [id] = call.arguments
  if (id !== undefined && options.id !== undefined && id !== options.id) {
    throw usageError('The event is named twice: as an argument, and with --id. Choose one.')
  }
  const filter = filterOf(id === undefined ? options : { ...options, id })
  const { all, reason } = options
  const isNarrow = Object.entries(filter).some(([name, value]) => name !== 'status' && value !== undefined)
  if (!isNarrow && !all) {
    throw usageError(
      `Which events? Narrow them, such as with --type or --since, or pass --all if you mean all of them. See: sendoff ${action} --help`,
    )
  }
  if (isNarrow && all) throw usageError('--all and a filter contradict each other. Leave one of them out.')

  return withSession(call, async ({ admin }) => {
    const plan = await admin.plan(action, filter, {
      ...(all && { all }),
      ...(reason !== undefined && { reason }),
    })
    if (plan.count === 0 && plan.isExact) {
      if (terminal.isJson) terminal.printJson({ plan, result: null })
      else terminal.print('No event matches.')
      return exitCodes.done
    }
    if (!terminal.isJson) printPlan(call, plan)
    if (options.dryRun) {
      if (terminal.isJson) terminal.printJson({ plan, result: null })
      else terminal.note(`Nothing was ${words[action].what}: this was a dry run.`)
      return exitCodes.done
    }
    const pace = rate.ratePerSecond === undefined ? '' : ` at ${rate.ratePerSecond}/s`
    await confirm(call, `${words[action].question}${pace}?`)
    return runShown(action, call, plan, (run) => admin.run(plan, { ...rate, ...run }))
  })
}

async function resume(
  action: RowAction,
  call: CommandCall<PlanActionOptions>,
  id: string,
  rate: Rate,
): Promise<ExitCode> {
  const { options } = call
  const filter = filterOf(options)
  const isFiltered = Object.values(filter).some((value) => value !== undefined)
  if (isFiltered || options.all || options.reason !== undefined || call.arguments.length > 0) {
    throw usageError('--plan continues a plan as it was made. Leave out every option that chooses events.')
  }
  if (options.dryRun)
    throw usageError('--plan and --dry-run contradict each other. "sendoff audit ID" shows a plan.')

  return withSession(call, async ({ admin }) => {
    const plan = await storedPlan(admin, action, id)
    return runShown(action, call, plan, (run) => admin.resumeRun(id, { ...rate, ...run }))
  })
}

async function storedPlan(admin: OutboxAdmin<unknown>, action: RowAction, id: string): Promise<Plan> {
  const entry = await admin.audit.entry(id)
  if (entry.plan === null)
    throw usageError(`Audit entry ${id} is not about a plan, so that it cannot be continued.`)
  if (entry.action !== action) {
    throw usageError(
      `Plan ${id} is to ${entry.action}. Continue it with: sendoff ${entry.action} --plan ${id}`,
    )
  }
  return JSON.parse(entry.plan) as Plan
}

function printPlan({ terminal }: CommandCall<PlanActionOptions>, { count, isExact, sample }: Plan): void {
  const { paint, width = Infinity } = terminal
  const events =
    count === 1 && isExact
      ? '1 event matches'
      : `${countText(count)}${isExact ? '' : ' or more'} events match`
  terminal.print(paint('bold', `${events}.`) + (sample.length < count || !isExact ? ' Some of them:' : ''))
  for (const { eventId, eventType, destination, lastError } of sample) {
    const parts = [eventId, eventType, destination, lastError ?? ''].filter((part) => part !== '')
    terminal.print(cut(`  ${parts.map(printable).join('  ')}`, width))
  }
}

/** Runs a plan with a progress bar. Ctrl-C stops it after the batch under way, and says how to continue. */
async function runShown(
  action: RowAction,
  call: CommandCall<PlanActionOptions>,
  plan: Plan,
  run: (options: RunOptions) => Promise<PlanResult>,
): Promise<ExitCode> {
  const { terminal } = call
  // A plan goes on to its end even if its output is no longer read.
  const stop = stopSignal(call.signals)
  const startedAt = performance.now()
  let last: PlanProgress | undefined
  try {
    const result = await run({
      signal: stop.signal,
      onProgress(progress) {
        last = progress
        if (terminal.canRedraw)
          terminal.redraw(progressText(progress.acted + progress.held, plan.count, plan.isExact))
      },
    })
    if (terminal.canRedraw && last !== undefined) terminal.note('')
    printResult(action, call, plan, result, performance.now() - startedAt)
    return result.state === 'done' ? exitCodes.done : exitCodes.interrupted
  } catch (error) {
    if (terminal.canRedraw && last !== undefined) terminal.note('')
    if (last === undefined) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new CommandError(
      `${reason} Plan ${last.id} has ${words[action].what} ${countText(last.acted)} so far. ${howToContinue(action, last.id)}`,
    )
  } finally {
    stop.release()
  }
}

function printResult(
  action: RowAction,
  { terminal }: CommandCall<PlanActionOptions>,
  plan: Plan,
  result: PlanResult,
  tookMs: number,
): void {
  const { id, acted, held, state, heldEvents } = result
  if (terminal.isJson) {
    terminal.printJson({ plan, result })
    return
  }
  const { what } = words[action]
  if (state === 'done') {
    terminal.print(`${countText(acted)} ${what} in ${durationText(tookMs)}. Recorded as plan ${id}.`)
  } else {
    terminal.print(`Stopped: ${countText(acted)} ${what} so far. ${howToContinue(action, id)}`)
  }
  if (held > 0) {
    const names = heldEvents.slice(0, 5).map(({ eventId, holder }) => `${eventId} (${holder})`)
    terminal.print(
      `${countText(held)} left alone, because workers hold them: ${names.map(printable).join(', ')}`,
    )
  }
}

function howToContinue(action: RowAction, id: string): string {
  return `Continue with: sendoff ${action} --plan ${id}`
}
