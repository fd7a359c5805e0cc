import type { BlockedKey, OutboxAdmin } from 'sendoff/admin'
import { CommandError } from '../command-error.ts'
import { exitCodes } from '../exit-codes.ts'
import { printable } from '../terminal/printable.ts'
import { type Column, tableText } from '../terminal/table.ts'
import type { Command, CommandCall } from './command-call.ts'
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

/** A key as one destination sees it: each has its own order. */
interface ListedKey extends BlockedKey {
  readonly destination: string
}

const columns: readonly Column<ListedKey>[] = [
  { title: 'key', value: ({ orderingKey }) => orderingKey },
  { title: 'destination', value: ({ destination }) => destination || '-', isOptional: true },
  {
    title: 'state',
    value: ({ isParked, head }) => (isParked ? 'parked' : head ? stateOf(head) : '-'),
    style: ({ isParked, head }) => (isParked || !head ? undefined : stateStyle(stateOf(head))),
  },
  { title: 'waiting', value: ({ waiting }) => String(waiting), align: 'right' },
  { title: 'first event', value: ({ head }) => head?.eventId ?? '-' },
  { title: 'type', value: ({ head }) => head?.eventType ?? '-' },
  { title: 'error', value: ({ head }) => head?.lastError ?? '', isOptional: true },
]

/** Prints the ordering keys that need an operator: of one destination, or of all. */
export const keys: Command<KeysOptions> = async (call) => {
  const { options, terminal } = call
  const { after } = options
  const limit = wholeNumber('--limit', options.limit, 1, 1_000)
  return withSession(call, async ({ admin }) => {
    const found: ListedKey[] = []
    const more: string[] = []
    for (const destination of await destinationsOf(admin, options)) {
      const page = await admin.keys.blocked({ limit, destination, ...(after !== undefined && { after }) })
      found.push(...page.map((key) => ({ ...key, destination })))
      if (page.length < limit) continue
      const where = destination === '' ? '' : `--destination ${destination} `
      more.push(`There may be more: ${where}--after ${page.at(-1)!.orderingKey}`)
    }
    if (terminal.isJson) {
      terminal.printJson({
        keys: found.map(({ head, ...same }) => ({ ...same, head: head ? eventJson(head) : null })),
      })
    } else if (found.length === 0) {
      terminal.note('No key is blocked or parked.')
    } else {
      terminal.print(tableText(found, columns, terminal))
      for (const line of more) terminal.note(printable(line))
    }
    return exitCodes.done
  })
}

async function destinationsOf(
  admin: OutboxAdmin<unknown>,
  { destination }: KeysOptions,
): Promise<readonly string[]> {
  if (destination !== undefined) return [destination]
  const { destinations } = await admin.destinations()
  return destinations.map((each) => each.destination)
}

/** Makes the first event of a key due now. */
export const retryKey: Command<KeyActionOptions> = (call) =>
  withSession(call, async ({ admin }) => {
    const key = call.arguments[0]!
    const isRetried = await admin.keys.retry(key, call.options.destination ?? '')
    if (!isRetried) throw noneOf(call, 'waits, or a worker holds it')
    return said(call, { orderingKey: key, isRetried }, `The first event of key "${key}" is due now.`)
  })

/** Makes the first event of a key DEAD, so that the next one has its turn. */
export const skipKey: Command<KeyActionOptions> = async (call) => {
  const key = call.arguments[0]!
  const { destination = '', reason } = call.options
  await confirm(call, `Make the first pending event of key "${key}" DEAD?`)
  return withSession(call, async ({ admin }) => {
    const isSkipped = await admin.keys.skip(key, reason, destination)
    if (!isSkipped) throw noneOf(call, 'is pending')
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

// An operator who leaves out the destination of a key acts on that of events without one.
function noneOf({ arguments: [key], options }: CommandCall<KeyActionOptions>, state: string): CommandError {
  const where =
    options.destination === undefined
      ? ' If it is the key of a destination, add --destination: sendoff keys shows it.'
      : ` It was looked for in destination "${options.destination}".`
  return new CommandError(`No event of key "${key}" ${state}.${where}`, exitCodes.negative)
}

function said({ terminal }: Parameters<Command<CommonOptions>>[0], json: object, text: string) {
  if (terminal.isJson) terminal.printJson(json)
  else terminal.print(text)
  return exitCodes.done
}
