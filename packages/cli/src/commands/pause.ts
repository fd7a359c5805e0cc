import type { PauseTarget } from 'sendoff/admin'
import { usageError } from '../command-error.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Command, CommandCall } from './command-call.ts'
import type { CommonOptions } from './command-options.ts'
import { withSession } from './session.ts'

/** Options of `sendoff pause` and `sendoff resume`. */
export interface PauseOptions extends CommonOptions {
  readonly type?: string
  readonly destination?: string
}

/** Stops the delivery of a type or to a destination; without one, prints what is paused. */
export const pause: Command<PauseOptions> = async (call) => {
  const target = targetOf(call)
  return withSession(call, async ({ admin }) => {
    if (target === undefined) return printPaused(call, await admin.paused())
    await admin.pause(target)
    if (call.terminal.isJson) call.terminal.printJson({ paused: await admin.paused() })
    else call.terminal.print(`${asSubject(target)} is paused on every process.`)
    return exitCodes.done
  })
}

/** Ends a pause. */
export const resume: Command<PauseOptions> = async (call) => {
  const target = targetOf(call)
  if (target === undefined) throw usageError('Resume what? Name it with --type or --destination.')
  return withSession(call, async ({ admin }) => {
    await admin.resume(target)
    if (call.terminal.isJson) call.terminal.printJson({ paused: await admin.paused() })
    else call.terminal.print(`${asSubject(target)} is delivered again.`)
    return exitCodes.done
  })
}

function targetOf({ options: { type, destination } }: CommandCall<PauseOptions>): PauseTarget | undefined {
  if (type !== undefined && destination !== undefined) {
    throw usageError('--type and --destination contradict each other: a pause is about one of them.')
  }
  if (type !== undefined) return { eventType: type }
  return destination === undefined ? undefined : { destination }
}

function printPaused({ terminal }: CommandCall<PauseOptions>, paused: readonly PauseTarget[]) {
  if (terminal.isJson) terminal.printJson({ paused })
  else if (paused.length === 0)
    terminal.note('Nothing is paused. Pause something with --type or --destination.')
  else for (const target of paused) terminal.print(nameOf(target))
  return exitCodes.done
}

function asSubject(target: PauseTarget): string {
  const name = nameOf(target)
  return `${name[0]!.toUpperCase()}${name.slice(1)}`
}

/** Names what a pause is about. */
export function nameOf(target: PauseTarget): string {
  return 'eventType' in target ? `type ${target.eventType}` : `destination ${target.destination}`
}
