const numbers = new Intl.NumberFormat('en')
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const rates = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })

/** Writes a number of events: exactly up to a million. */
export function count(value: number): string {
  return value < 1_000_000 ? numbers.format(value) : compact.format(value)
}

/** Writes a count that may be an estimate. */
export function estimate({
  count: value,
  isExact,
}: {
  readonly count: number
  readonly isExact: boolean
}): string {
  return isExact ? count(value) : `≈ ${count(value)}`
}

export function rate(value: number): string {
  if (value >= 100) return count(Math.round(value))
  return value > 0 && value < 0.1 ? '< 0.1' : rates.format(value)
}

/** Writes a duration with the two units that matter. */
export function duration(ms: number | undefined | null): string {
  if (ms === undefined || ms === null) return '–'
  if (ms < 1) return ms === 0 ? '0' : '< 1 ms'
  if (ms < 1_000) return `${Math.round(ms)} ms`
  const seconds = ms / 1_000
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  if (seconds < 60) return `${Math.round(seconds)} s`
  const units: readonly [string, number][] = [
    ['d', 86_400],
    ['h', 3_600],
    ['min', 60],
    ['s', 1],
  ]
  const first = units.findIndex(([, size]) => seconds >= size)
  const [name, size] = units[first]!
  const whole = Math.floor(seconds / size)
  const next = units[first + 1]
  const rest = next === undefined ? 0 : Math.floor((seconds % size) / next[1])
  return rest === 0 ? `${whole} ${name}` : `${whole} ${name} ${rest} ${next![0]}`
}

/** Writes a duration beside an axis: with one unit. */
export function shortDuration(ms: number): string {
  if (ms < 1_000) return duration(ms)
  if (ms < 120_000) return `${rates.format(ms / 1_000)} s`
  if (ms < 7_200_000) return `${rates.format(ms / 60_000)} min`
  return `${rates.format(ms / 3_600_000)} h`
}

/** Writes how long ago a time was, or how far ahead it is. */
export function ago(time: number | null | undefined, now = Date.now()): string {
  if (time === null || time === undefined) return '–'
  const ms = now - time
  if (Math.abs(ms) < 1_000) return 'now'
  const whole = Math.floor(Math.abs(ms) / 1_000) * 1_000
  const text = whole < 10_000 ? `${whole / 1_000} s` : duration(whole)
  return ms > 0 ? `${text} ago` : `in ${text}`
}

const clock = new Intl.DateTimeFormat('en-GB', {
  year: 'numeric',
  month: 'short',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
})

/** Writes a time in full, in the visitor's time zone. */
export function time(at: number | null | undefined): string {
  return at === null || at === undefined || Number.isNaN(at) ? '–' : clock.format(at)
}

/** Reads a time of a filter: epoch milliseconds, or a time such as `2026-01-31T12:00Z`. NaN if it is neither. */
export function timeIn(text: string): number {
  return /^\d+$/.test(text) ? Number(text) : Date.parse(text)
}

export function size(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`
  if (bytes < 1_048_576) return `${(bytes / 1_024).toFixed(1)} KiB`
  return `${(bytes / 1_048_576).toFixed(1)} MiB`
}

/** Shortens an id in the middle. */
export function shortId(id: string): string {
  return id.length <= 14 ? id : `${id.slice(0, 6)}…${id.slice(-6)}`
}

/** Returns a destination as the page names it. */
export function destinationName(destination: string): string {
  return destination === '' ? 'default' : destination
}
