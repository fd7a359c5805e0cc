/** A heading of a page and what stands below it, up to the next heading. */
export interface PageSection {
  /** How links name the heading. */
  readonly anchor: string
  /** What the rows of its tables begin with: the code in their first cells. */
  readonly names: readonly string[]
}

/** The sections of a page by their headings, whatever their level. */
export function sectionsOf(markdown: string): ReadonlyMap<string, PageSection> {
  const sections = new Map<string, PageSection & { readonly names: string[] }>()
  let current: string[] = []
  let inBlock = false

  for (const line of markdown.split('\n')) {
    if (line.startsWith('```')) inBlock = !inBlock
    if (inBlock) continue

    const heading = /^#+ (.+)$/.exec(line)?.[1]
    if (heading !== undefined) {
      current = []
      sections.set(heading, { anchor: anchorOf(heading), names: current })
    }
    const firstCell = /^\| *(`.+?`) *\|/.exec(line)?.[1]
    if (firstCell !== undefined) current.push(...[...firstCell.matchAll(/`(.+?)`/g)].map(([, name]) => name!))
  }
  return sections
}

/** As code hosts make it: lower case, without punctuation, blanks as hyphens. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')
}
