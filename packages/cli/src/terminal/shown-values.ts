/** Formats a number with commas between thousands: `1,204`. */
export function countText(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** Formats a count that may be an estimate: `1,204` or `about 5,000,000`. */
export function estimateText({
  count,
  isExact,
}: {
  readonly count: number
  readonly isExact: boolean
}): string {
  return isExact ? countText(count) : `about ${countText(count)}`
}

/** Formats a duration in its two largest units: `480 ms`, `4 min 12 s`, `3 days 2 h`. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 10_000) return `${Math.round(ms / 100) / 10} s`
  const [large, small] = partsOf(ms)
  return small === undefined ? large : `${large} ${small}`
}

/** Formats a time for people, in their own time zone: `2026-03-01 14:05:09`. */
export function timeText(at: number): string {
  if (!isTime(at)) return 'unknown'
  const date = new Date(at)
  const two = (value: number) => String(value).padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

/** Formats a time for machines, in UTC; null if a row was changed by hand and has none. */
export function timeJson(at: number | null): string | null {
  return at === null || !isTime(at) ? null : new Date(at).toISOString()
}

/** Cuts a text at a width, and shows that it was cut. */
export function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`
}

const units: readonly (readonly [one: string, many: string, ms: number])[] = [
  ['day', 'days', 86_400_000],
  ['h', 'h', 3_600_000],
  ['min', 'min', 60_000],
  ['s', 's', 1_000],
]

function partsOf(ms: number): readonly [large: string, small: string | undefined] {
  const index = units.findIndex(([, , each]) => ms >= each)
  const [one, many, each] = units[index]!
  const whole = Math.floor(ms / each)
  const next = units[index + 1]
  const rest = next === undefined ? 0 : Math.floor((ms - whole * each) / next[2])
  return [
    `${whole} ${whole === 1 ? one : many}`,
    rest === 0 ? undefined : `${rest} ${rest === 1 ? next![0] : next![1]}`,
  ]
}

function isTime(at: number): boolean {
  return Math.abs(at) <= 8_640_000_000_000_000
}
