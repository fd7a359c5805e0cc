import { ulidStart } from '../../sql/ulid-time.ts'

const ulid = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/
const uuidOfTime = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/
const dayMs = 86_400_000

/**
 * Returns where a purge continues after young rows, whose ids are from `first` to `last`. If the ids rise
 * with time, that is behind all such ids made until now, even by clocks that are a day ahead. Returns
 * undefined for ids of other kinds.
 */
export function nextDayOfIds(first: string, last: string, now = Date.now()): string | undefined {
  const start = startOfIds(first, last, now + dayMs)
  return start === undefined || start <= last ? undefined : start
}

function startOfIds(first: string, last: string, time: number): string | undefined {
  if (ulid.test(first) && ulid.test(last)) return ulidStart(time)
  if (!uuidOfTime.test(first) || !uuidOfTime.test(last)) return undefined

  const hex = time.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}`
}
