import { cut } from './shown-values.ts'
import type { Paint, Style } from './paint.ts'
import { printable } from './printable.ts'

/** A column of a table. */
export interface Column<Row> {
  readonly title: string
  readonly value: (row: Row) => string
  readonly style?: (row: Row) => Style | undefined
  readonly align?: 'right'
}

/** Formats rows as a table. The last column is cut at the width of the terminal, if there is one. */
export function tableText<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { paint, width }: { readonly paint: Paint; readonly width: number | undefined },
): string {
  const cells = rows.map((row) => columns.map(({ value }) => printable(value(row))))
  const widths = columns.map(({ title }, index) =>
    Math.max(title.length, ...cells.map((line) => line[index]!.length)),
  )
  const before = widths.slice(0, -1).reduce((sum, each) => sum + each + gap.length, 0)
  const lastWidth = width === undefined ? Infinity : Math.max(0, width - before)

  const lineOf = (values: readonly string[], styleOf: (index: number) => Style | undefined): string =>
    values
      .map((text, index) => {
        const isLast = index === columns.length - 1
        const shown = isLast ? cut(text, lastWidth) : text
        const padding = ' '.repeat(
          isLast && columns[index]!.align !== 'right' ? 0 : Math.max(0, widths[index]! - shown.length),
        )
        const style = styleOf(index)
        const painted = style === undefined ? shown : paint(style, shown)
        return columns[index]!.align === 'right' ? padding + painted : painted + padding
      })
      .join(gap)
      .trimEnd()

  return [
    lineOf(
      columns.map(({ title }) => title),
      () => 'dim',
    ),
    ...cells.map((line, row) => lineOf(line, (index) => columns[index]!.style?.(rows[row]!))),
  ].join('\n')
}

const gap = '  '
