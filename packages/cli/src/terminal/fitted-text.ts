/** Joins texts with a gap, and begins a new line where the next one does not fit any more. */
export function flowed(parts: readonly string[], gap: string, width = Infinity): string {
  const lines: string[] = []
  for (const part of parts) {
    const last = lines.at(-1)
    const longer = `${last}${gap}${part}`
    if (last !== undefined && visibleLength(longer) <= width) lines[lines.length - 1] = longer
    else lines.push(part)
  }
  return lines.join('\n')
}

/** Breaks a text between its words, and indents every line of it. */
export function wrapped(text: string, indent: string, width = Infinity): string {
  return flowed(text.split(' '), ' ', width - indent.length).replace(/^/gm, indent)
}

/** Cuts a line with colours at a width, and shows that it was cut. Colours end with it. */
export function cutLine(line: string, width: number): string {
  if (visibleLength(line) <= width) return line
  let room = Math.max(0, width - 1)
  const kept = line.split(colour).map((part, index) => {
    if (index % 2 === 1) return part
    const shown = part.slice(0, room)
    room -= shown.length
    return room === 0 && shown.length < part.length ? `${shown}…` : shown
  })
  // Of the colours behind the cut, all are kept: the last one switches colours off.
  const at = kept.findIndex((part) => part.endsWith('…'))
  return kept.map((part, index) => (index > at && index % 2 === 0 ? '' : part)).join('')
}

const colour = /(\u001b\[[0-9;]*m)/

function visibleLength(text: string): number {
  return text.replace(/\u001b\[[0-9;]*m/g, '').length
}
