import { cut } from './shown-values.ts'
import type { Paint, Style } from './paint.ts'
import { printable } from './printable.ts'

/** A column of a table. */
export interface Column<Row> {
  readonly title: string
  readonly value: (row: Row) => string
  readonly style?: (row: Row) => Style | undefined
  readonly align?: 'right'
  /** Leaves the column out if all its values are `-` or empty. */
  readonly isOptional?: true
  /** Leaves the column out if the table is wider than the terminal. */
  readonly isMinor?: true
}

/**
 * Formats rows as a table. Columns that do not fit into the width of the terminal go on in a second line of
 * each row. The last column is cut, if enough of it is left.
 */
export function tableText<Row>(
  rows: readonly Row[],
  all: readonly Column<Row>[],
  { paint, width = Infinity }: { readonly paint: Paint; readonly width: number | undefined },
): string {
  const known = all.filter(
    ({ isOptional, value }) => !isOptional || rows.some((row) => !['-', ''].includes(value(row))),
  )
  const widthOf = ({ title, value }: Column<Row>): number =>
    Math.max(title.length, ...rows.map((row) => printable(value(row)).length))
  const whole = known.reduce((sum, column) => sum + widthOf(column) + gap.length, -gap.length)
  const columns = whole > width ? known.filter(({ isMinor }) => !isMinor) : known
  const cells = rows.map((row) => columns.map(({ value }) => printable(value(row))))
  const widths = columns.map(widthOf)
  const lines = linesOf(widths, width)

  const rowOf = (values: readonly string[], styleOf: (index: number) => Style | undefined): string =>
    lines
      .map(({ indent, indexes }) => {
        let used = indent - gap.length
        const shown = indexes.map((index) => {
          const isEnd = index === indexes.at(-1)
          used += gap.length
          const text =
            index === columns.length - 1 ? cut(values[index]!, Math.max(0, width - used)) : values[index]!
          used += widths[index]!
          return padded(text, isEnd, widths[index]!, columns[index]!.align, (part) => {
            const style = styleOf(index)
            return style === undefined ? part : paint(style, part)
          })
        })
        return `${' '.repeat(indent)}${shown.join(gap)}`.trimEnd()
      })
      .filter((line) => line !== '')
      .join('\n')

  return [
    rowOf(
      columns.map(({ title }) => title),
      () => 'dim',
    ),
    ...cells.map((line, row) => rowOf(line, (index) => columns[index]!.style?.(rows[row]!))),
  ].join('\n')
}

const gap = '  '
const secondIndent = 4

/** How much of the last column is worth a place at the end of a line. */
const worthwhile = 24

/** Divides columns of these widths into lines. */
function linesOf(
  widths: readonly number[],
  width: number,
): readonly { readonly indent: number; readonly indexes: readonly number[] }[] {
  const lines: { indent: number; indexes: number[] }[] = [{ indent: 0, indexes: [] }]
  let used = 0
  for (const [index, own] of widths.entries()) {
    const needed = index === widths.length - 1 ? Math.min(own, worthwhile) : own
    const line = lines.at(-1)!
    if (line.indexes.length > 0 && used + needed > width) {
      lines.push({ indent: secondIndent, indexes: [index] })
      used = secondIndent
    } else line.indexes.push(index)
    used += own + gap.length
  }
  return lines
}

function padded(
  text: string,
  isEnd: boolean,
  width: number,
  align: 'right' | undefined,
  painted: (text: string) => string,
): string {
  const padding = ' '.repeat(Math.max(0, width - text.length))
  if (align === 'right') return padding + painted(text)
  return painted(text) + (isEnd ? '' : padding)
}
