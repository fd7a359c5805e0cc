import type { NewRow, WakeUp } from '../store/index.ts'

/**
 * The most due times in one signal: signals have a size limit. Pollers find later ones at their intervals.
 */
const mostMoments = 100

/**
 * Writes a signal as text: the partitions, then `@` and the milliseconds until each due time, then `!` if the
 * pauses have changed. An empty text means that rows of any partition may be due now.
 */
export function textOfWakeUp({ partitions = [], inMs = [], controls = false }: WakeUp): string {
  const moments = inMs.length === 0 ? '' : `@${inMs.slice(0, mostMoments).map(Math.ceil).join()}`
  return `${controls ? '!' : ''}${partitions.join()}${moments}`
}

/** Reads a signal. A text of another version means that rows of any partition may be due now. */
export function wakeUpIn(text = ''): WakeUp {
  const [, controls, partitions = '', moments] = /^(!?)(\d+(?:,\d+)*)?(?:@(\d+(?:,\d+)*))?$/.exec(text) ?? []
  return {
    ...(partitions !== '' && { partitions: partitions.split(',').map(Number) }),
    ...(moments !== undefined && { inMs: moments.split(',').map(Number) }),
    ...(controls === '!' && { controls: true }),
  }
}

/** Returns the signal for rows that fall due later and that no process holds; undefined if there are none. */
export function wakeUpForLater(rows: readonly NewRow[], now: number): WakeUp | undefined {
  const isLater = (row: NewRow) => !row.claimed && dueInMs(row, now) > 0
  if (!rows.some(isLater)) return undefined

  const later = rows.filter(isLater)
  const partitions = later.map(({ partitionNo }) => partitionNo)
  return {
    ...(partitions.every((partition) => partition !== null) && { partitions: [...new Set(partitions)] }),
    inMs: [...new Set(later.map((row) => dueInMs(row, now)))].sort((a, b) => a - b),
  }
}

function dueInMs({ due }: NewRow, now: number): number {
  return 'at' in due ? due.at - now : due.inMs
}
