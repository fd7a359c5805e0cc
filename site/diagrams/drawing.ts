/** The look of a part: plain, the subject of the picture, well ended, badly ended, or in the background. */
export type Look = 'plain' | 'main' | 'good' | 'bad' | 'faint'

/** A picture as SVG text. Its colours follow the reader's light or dark mode. */
export interface Drawing {
  /** The file's name, without its ending. */
  readonly name: string
  /** What the picture shows, for readers who do not see it. */
  readonly title: string
  readonly width: number
  readonly height: number
  readonly parts: readonly string[]
}

const lineHeight = 18

/** A box with lines of text, separated by `|`. A line in backquotes is code. */
export function box(x: number, y: number, width: number, height: number, text = '', look: Look = 'plain') {
  const frame = `<rect class="box ${look}" x="${x}" y="${y}" width="${width}" height="${height}" rx="8"/>`
  return frame + textAt(x + width / 2, y + height / 2, text)
}

/** A frame around other parts, with its name at the upper edge. */
export function frame(x: number, y: number, width: number, height: number, name: string) {
  return (
    `<rect class="frame" x="${x}" y="${y}" width="${width}" height="${height}" rx="10"/>` +
    label(x + 12, y + 18, name, 'start')
  )
}

/** A table of a database, as a cylinder. */
export function table(
  x: number,
  y: number,
  width: number,
  height: number,
  text: string,
  look: Look = 'main',
) {
  const curve = 9
  const sides = `M${x} ${y + curve} v${height - 2 * curve} a${width / 2} ${curve} 0 0 0 ${width} 0 v${-(height - 2 * curve)}`
  return (
    `<path class="box ${look}" d="${sides}"/>` +
    `<ellipse class="box ${look}" cx="${x + width / 2}" cy="${y + curve}" rx="${width / 2}" ry="${curve}"/>` +
    textAt(x + width / 2, y + height / 2 + curve / 2, text)
  )
}

/** A line through points, with a head at its end. */
export function arrow(points: string, look: Look = 'plain') {
  return `<polyline class="arrow ${look}" points="${points}" marker-end="url(#head-${look})"/>`
}

/** A line without a head. */
export function line(points: string, look: Look = 'faint') {
  return `<polyline class="arrow ${look}" points="${points}"/>`
}

/** Small text beside a part. */
export function label(x: number, y: number, text: string, anchor: 'start' | 'middle' | 'end' = 'middle') {
  return text
    .split('|')
    .map(
      (each, index) =>
        `<text class="label" x="${x}" y="${y + index * 15}" text-anchor="${anchor}">${marked(each)}</text>`,
    )
    .join('')
}

/** Returns the file of a drawing. */
export function svgOf({ title, width, height, parts }: Drawing): string {
  const heads = ['plain', 'main', 'good', 'bad', 'faint'].map(
    (look) =>
      `<marker id="head-${look}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path class="head ${look}" d="M0 0 8 4 0 8z"/></marker>`,
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-label="${escaped(title)}">`,
    `<style>${style}</style>`,
    `<defs>${heads.join('')}</defs>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n')
}

function textAt(x: number, middle: number, text: string): string {
  const lines = text === '' ? [] : text.split('|')
  const first = middle - ((lines.length - 1) * lineHeight) / 2 + 5
  return lines
    .map(
      (each, index) =>
        `<text x="${x}" y="${first + index * lineHeight}" text-anchor="middle">${marked(each)}</text>`,
    )
    .join('')
}

function marked(text: string): string {
  return escaped(text).replaceAll(/`([^`]+)`/g, '<tspan class="code">$1</tspan>')
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

// The site has the same rules with its own colours, because its dark mode is a switch on the page.
const style = `
text{font:14px system-ui,sans-serif;fill:#213547}
.label{font-size:12.5px;fill:#5b6472}
.code{font-family:ui-monospace,monospace;font-size:.93em}
.box{fill:#f6f6f7;stroke:#b8bcc6;stroke-width:1.3}
.box.main{fill:#eaeefe;stroke:#5468d4}
.box.good{fill:#e3f5e8;stroke:#2f9e58}
.box.bad{fill:#fdeaea;stroke:#cf4455}
.box.faint{fill:none;stroke:#c8ccd4;stroke-dasharray:4 4}
.frame{fill:none;stroke:#5468d4;stroke-dasharray:5 4}
.arrow{fill:none;stroke:#7a8290;stroke-width:1.6}
.arrow.main{stroke:#5468d4}.arrow.good{stroke:#2f9e58}.arrow.bad{stroke:#cf4455}
.arrow.faint{stroke:#b8bcc6;stroke-dasharray:4 4}
.head{fill:#7a8290}.head.main{fill:#5468d4}.head.good{fill:#2f9e58}.head.bad{fill:#cf4455}.head.faint{fill:#b8bcc6}
@media (prefers-color-scheme:dark){
text{fill:#dfe3ea}.label{fill:#a5adba}
.box{fill:#26282e;stroke:#545a66}.box.main{fill:#262d4d;stroke:#8697f2}
.box.good{fill:#1c3a27;stroke:#4cc07a}.box.bad{fill:#44222a;stroke:#ee6f7f}
.box.faint{fill:none;stroke:#4b505b}
.frame{stroke:#8697f2}
.arrow{stroke:#98a0ad}.arrow.main{stroke:#8697f2}.arrow.good{stroke:#4cc07a}.arrow.bad{stroke:#ee6f7f}.arrow.faint{stroke:#545a66}
.head{fill:#98a0ad}.head.main{fill:#8697f2}.head.good{fill:#4cc07a}.head.bad{fill:#ee6f7f}.head.faint{fill:#545a66}
}
`.replaceAll('\n', '')
