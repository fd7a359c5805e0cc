import { OutboxError } from '../errors.ts'
import { checkOptions, invalidOption, type OptionCheck, text, textOrEmpty, textUpTo } from '../options.ts'
import type { PauseTarget } from './people.ts'

/** The longest name of a destination, in characters. */
export const maxDestinationLength = 50

/** What operators name in their calls. All stores keep names of these lengths, so all refuse longer ones. */
export const nameChecks = {
  actor: textUpTo(255),
  destination: textUpTo(maxDestinationLength, textOrEmpty),
  eventId: text,
  eventType: textUpTo(128),
  orderingKey: textUpTo(255),
  reason: text,
} satisfies Readonly<Record<string, OptionCheck>>

/**
 * Throws `OUTBOX_INVALID_OPTION` for a name that does not fit. One that is undefined does not fit either: a
 * store would take it for no condition.
 */
export function checkNames(
  what: string,
  names: Readonly<Partial<Record<keyof typeof nameChecks, unknown>>>,
): void {
  for (const [name, value] of Object.entries(names)) {
    const check = nameChecks[name as keyof typeof nameChecks]
    if (check(value) !== undefined) throw invalidOption(what, name, value, check)
  }
}

/** Returns what a pause is about. Throws `OUTBOX_INVALID_OPTION` unless that is one thing. */
export function pauseTargetOf(what: string, target: PauseTarget): PauseTarget {
  const { eventType, destination } = nameChecks
  checkOptions(what, target, { eventType, destination })
  const given = Object.entries(target).filter(([, value]) => value !== undefined)
  if (given.length === 1) return Object.fromEntries(given) as PauseTarget
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `Name what ${what} is about: { eventType } or { destination }.`,
  )
}
