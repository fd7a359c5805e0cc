import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A group of pages that answer one need. */
export interface NavigationGroup {
  readonly title: string
  readonly pages: readonly NavigationPage[]
}

export interface NavigationPage {
  readonly title: string
  /** The path of the page in `docs`, such as `orms/drizzle.md`. */
  readonly file: string
}

/**
 * Reads the groups of pages from `docs/README.md`: each heading of the second level is a group, and each table
 * row that begins with a link is one of its pages. The list of pages is thus the navigation of the site.
 */
export function readNavigation(docs: string): readonly NavigationGroup[] {
  const groups: { title: string; pages: NavigationPage[] }[] = []
  for (const line of readFileSync(join(docs, 'README.md'), 'utf8').split('\n')) {
    const heading = /^## (.+)$/.exec(line)?.[1]
    if (heading !== undefined) groups.push({ title: heading, pages: [] })
    const [, title, file] = /^\| *\[([^\]]+)\]\(([^)#:]+\.md)\) *\|/.exec(line) ?? []
    if (title !== undefined && file !== undefined) groups.at(-1)?.pages.push({ title, file })
  }
  return groups.filter(({ pages }) => pages.length > 0)
}
