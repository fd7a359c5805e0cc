/** Formats a duration for readers: `480 ms`, `1.5 s`, `3 min`, `36 h`, `14 days`. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 120_000) return `${Math.round(ms / 100) / 10} s`
  if (ms < 2 * hourMs) return `${Math.round(ms / 60_000)} min`
  return ms < 48 * hourMs ? `${Math.round(ms / hourMs)} h` : `${Math.round(ms / (24 * hourMs))} days`
}

const hourMs = 3_600_000
