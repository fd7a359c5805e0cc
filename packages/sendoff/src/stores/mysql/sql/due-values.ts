import type { DuePlace } from '../../../store/index.ts'
import type { Value } from '../drivers/mysql-driver.ts'
import type { DueOptions } from './row-conditions.ts'
import { ageValue, timeValue } from './statement-values.ts'

/** Which due rows a request asks for. */
export interface DueRequest {
  readonly from?: DuePlace | undefined
  readonly skipRecentMs?: number
  readonly destination?: string
}

/** Returns the options that decide the text of a statement that finds due rows. */
export function dueOptions(
  { from, skipRecentMs, destination }: DueRequest,
  byDestination: boolean,
): DueOptions {
  return {
    byDestination,
    from: from !== undefined,
    skipRecent: (skipRecentMs ?? 0) > 0,
    destination: destination !== undefined,
  }
}

/** Returns the parameters of a statement that finds due rows. */
export function dueValues(request: DueRequest, byDestination: boolean): Value[] {
  const rest = [...placeValues(request.from), ...recentValues(request)]
  const destination = destinationValues(request)
  return byDestination ? [...destination, ...rest] : [...rest, ...destination]
}

/** Returns the parameter of the destination, if there is one. */
export function destinationValues({ destination }: DueRequest): Value[] {
  return destination === undefined ? [] : [destination]
}

/** Returns the parameter of the age below which rows are skipped, if there is one. */
export function recentValues({ skipRecentMs = 0 }: DueRequest): Value[] {
  return skipRecentMs > 0 ? [ageValue(skipRecentMs)] : []
}

/** Returns the parameters of a place to start at, if there is one. */
export function placeValues(from: DuePlace | undefined): Value[] {
  if (from === undefined) return []
  const at = timeValue(from.availableAt)
  return [at, at, from.seq]
}
