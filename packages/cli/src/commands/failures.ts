import type { GroupedFailure } from 'sendoff/admin'
import { exitCodes } from '../exit-codes.ts'
import { countText, timeJson, timeText } from '../terminal/shown-values.ts'
import { type Column, tableText } from '../terminal/table.ts'
import type { Command } from './command-call.ts'
import type { CommonOptions } from './command-options.ts'
import { withSession } from './session.ts'

const columns: readonly Column<GroupedFailure>[] = [
  { title: 'events', value: ({ count }) => countText(count), align: 'right', style: () => 'red' },
  { title: 'type', value: ({ eventType }) => eventType },
  { title: 'destination', value: ({ destination }) => destination || '-', isOptional: true },
  { title: 'last', value: ({ lastAt }) => timeText(lastAt) },
  { title: 'for example', value: ({ sample }) => sample.eventId },
  { title: 'error', value: ({ text }) => text },
]

/** Prints DEAD events, grouped by what went wrong. */
export const failures: Command<CommonOptions> = async (call) => {
  const { terminal } = call
  return withSession(call, async ({ admin }) => {
    const { groups, examined, isComplete } = await admin.failures()
    if (terminal.isJson) {
      const shown = groups.map(({ firstAt, lastAt, ...same }) => ({
        ...same,
        firstAt: timeJson(firstAt),
        lastAt: timeJson(lastAt),
      }))
      terminal.printJson({ groups: shown, examined, isComplete })
      return exitCodes.done
    }
    if (groups.length === 0) terminal.note('No event is DEAD.')
    else terminal.print(tableText(groups, columns, terminal))
    if (!isComplete) terminal.note(`These are the newest ${countText(examined)} DEAD events. There are more.`)
    return exitCodes.done
  })
}
