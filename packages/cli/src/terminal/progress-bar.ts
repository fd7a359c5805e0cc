import { countText } from './shown-values.ts'

/** Formats how far something is: `████████░░░░ 40/100`. */
export function progressText(done: number, count: number, isExact: boolean, width = 30): string {
  const share = count === 0 ? 1 : Math.min(1, done / count)
  const full = Math.round(share * width)
  const of = isExact ? countText(count) : `${countText(Math.max(done, count))} or more`
  return `${'█'.repeat(full)}${'░'.repeat(width - full)} ${countText(done)}/${of}`
}
