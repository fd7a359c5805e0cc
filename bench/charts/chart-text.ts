/** Styles of all charts, for light and dark pages. */
export const palette = `text { font: 12px system-ui, sans-serif; fill: #424a53 }
  .title { font-size: 15px; font-weight: 600; fill: #1f2328 }
  .panel { font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    text { fill: #9198a1 }
    .title { fill: #f0f6fc }
  }`

export function numberText(value: number): string {
  return value >= 10_000
    ? `${(value / 1_000).toLocaleString('en', { maximumFractionDigits: 1 })}k`
    : value.toLocaleString('en', { maximumFractionDigits: 2 })
}

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
