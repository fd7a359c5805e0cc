import { headingAnchor } from '../../site/pages/heading-anchor.ts'

/** A heading of a page and its text, up to the next heading. */
export interface PageSection {
  /** The name of the heading in links. */
  readonly anchor: string
  /** The first cells of its table rows, if they are code. */
  readonly names: readonly string[]
  /** The second cells of these rows, by the name in the first. */
  readonly defaults: ReadonlyMap<string, string>
}

/** Returns the sections of a page by their headings, at every level. */
export function sectionsOf(markdown: string): ReadonlyMap<string, PageSection> {
  const sections = new Map<string, PageSection>()
  let names: string[] = []
  let defaults = new Map<string, string>()
  let inBlock = false

  for (const line of markdown.split('\n')) {
    if (line.startsWith('```')) inBlock = !inBlock
    if (inBlock) continue

    const heading = /^#+ (.+)$/.exec(line)?.[1]
    if (heading !== undefined) {
      names = []
      defaults = new Map()
      sections.set(heading, { anchor: headingAnchor(heading), names, defaults })
    }
    const [, firstCell, secondCell] = /^\| *(`.+?`) *\| *(.*?) *\|/.exec(line) ?? []
    if (firstCell === undefined) continue
    const named = [...firstCell.matchAll(/`(.+?)`/g)].map(([, name]) => name!)
    names.push(...named)
    for (const name of named) defaults.set(name, secondCell!)
  }
  return sections
}
