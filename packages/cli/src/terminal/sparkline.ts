const bars = '▁▂▃▄▅▆▇█'

/** Draws numbers as bars, one character each, from 0 to the largest. */
export function sparkline(values: readonly number[]): string {
  const largest = Math.max(0, ...values)
  return values.map((value) => bars[barOf(value, largest)]).join('')
}

// Something is never drawn as nothing.
function barOf(value: number, largest: number): number {
  if (largest === 0 || value <= 0) return 0
  return Math.max(1, Math.round((value / largest) * (bars.length - 1)))
}
