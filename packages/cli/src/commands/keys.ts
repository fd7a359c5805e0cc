import type { BlockedKey } from 'sendoff/admin'
import { CommandError } from '../command-error.ts'
import { exitCodes } from '../exit-codes.ts'
import { type Column, tableText } from '../terminal/table.ts'
import type { Command } from './command-call.ts'
import type { CommonOptions } from './command-options.ts'
import { confirm } from './confirm.ts'
import { withSession } from './session.ts'
import { eventJson, stateOf, stateStyle } from './shown-event.ts'
import { wholeNumber } from './whole-number.ts'

/** Options of `sendoff keys`. */
export interface KeysOptions extends CommonOptions {
  readonly destination?: string
  readonly limit: string
  readonly after?: string
}

/** Options of an action on a key. */
export interface KeyActionOptions extends CommonOptions {
  readonly destination?: string
  readonly reason?: string
  readonly yes?: boolean
}

const columns: readonly Column<BlockedKey>[] = [
  { title: 'key', value: ({ orderingKey }) => orderingKey },
  {
    title: 'state',
    value: ({ isParked, head }) => (isParked ? 'parked' : head ? stateOf(head) : '-'),
    style: ({ isParked, head }) => (isParked || !head ? undefined : stateStyle(stateOf(head))),
  },
  { title: 'waiting', value: ({ waiting }) => String(waiting), align: 'right' },
  { title: 'first event', value: ({ head }) => head?.eventId ?? '-' },
  { title: 'type', value: ({ head }) => head?.eventType ?? '-' },
  { title: 'error', value: ({ head }) => head?.lastError ?? '' },
]

/** Prints the ordering keys that need an operator. */
export const keys: Command<KeysOptions> = async (call) => {
  const { options, terminal } = call
  const { destination = '', after } = options
  const limit = wholeNumber('--limit', options.limit, 1, 1_000)
  return withSession(call, async ({ admin }) => {
    const found = await admin.keys.blocked({ limit, destination, ...(after !== undefined && { after }) })
    if (terminal.isJson) {
      terminal.printJson({
        keys: found.map(({ head, ...same }) => ({ ...same, head: head ? eventJson(head) : null })),
      })
    } else if (found.length === 0) {
      terminal.note('No key is blocked or parked.')
    } else {
      terminal.print(tableText(found, columns, terminal))
      if (found.length === limit) terminal.note(`There may be more: --after ${found.at(-1)!.orderingKey}`)
    }
    return exitCodes.done
  })
}

/** Makes the first event of a key due now. */
export const retryKey: Command<KeyActionOptions> = (call) =>
  withSession(call, async ({ admin }) => {
    const key = call.arguments[0]!
    const isRetried = await admin.keys.retry(key, call.options.destination ?? '')
    if (!isRetried)
      throw new CommandError(`No event of key "${key}" waits, or a worker holds it.`, exitCodes.negative)
    return said(call, { orderingKey: key, isRetried }, `The first event of key "${key}" is due now.`)
  })

/** Makes the first event of a key DEAD, so that the next one has its turn. */
export const skipKey: Command<KeyActionOptions> = async (call) => {
  const key = call.arguments[0]!
  const { destination = '', reason } = call.options
  await confirm(call, `Make the first pending event of key "${key}" DEAD?`)
  return withSession(call, async ({ admin }) => {
    const isSkipped = await admin.keys.skip(key, reason, destination)
    if (!isSkipped) throw new CommandError(`No event of key "${key}" is pending.`, exitCodes.negative)
    return said(
      call,
      { orderingKey: key, isSkipped },
      `The first event of key "${key}" is DEAD. The next one has its turn.`,
    )
  })
}

/** Stops the delivery of a key. */
export const parkKey: Command<KeyActionOptions> = (call) =>
  withSession(call, async ({ admin }) => {
    const key = call.arguments[0]!
    await admin.keys.park(key, call.options.destination ?? '')
    return said(call, { orderingKey: key, isParked: true }, `Key "${key}" is parked.`)
  })

/** Lifts a park. */
export const unparkKey: Command<KeyActionOptions> = (call) =>
  withSession(call, async ({ admin }) => {
    const key = call.arguments[0]!
    await admin.keys.unpark(key, call.options.destination ?? '')
    return said(call, { orderingKey: key, isParked: false }, `Key "${key}" is no longer parked.`)
  })

function said({ terminal }: Parameters<Command<CommonOptions>>[0], json: object, text: string) {
  if (terminal.isJson) terminal.printJson(json)
  else terminal.print(text)
  return exitCodes.done
}
