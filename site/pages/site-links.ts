import { posix } from 'node:path'

/** Where files outside of `docs` are read. */
const repository = 'https://github.com/sendoff-outbox/sendoff/blob/main/'

/** Pages of the project's root, and their place on the site. */
export const rootPages: Readonly<Record<string, string>> = {
  'README.md': 'readme.md',
  'ARCHITECTURE.md': 'architecture.md',
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'contributing.md',
  'SECURITY.md': 'security-policy.md',
}

/**
 * Returns the place of a project's file on the site, or undefined if it is not there. A file of `docs` keeps its
 * path; a `README.md` is the index of its folder, and the list of all pages is `contents.md`. Files that are neither
 * pages nor pictures are not on the site.
 */
export function placeOf(file: string): string | undefined {
  if (file in rootPages) return rootPages[file]
  if (file === 'docs' || file === 'docs/README.md') return 'contents.md'
  if (!/^docs\/.+\.(?:md|svg|png)$/.test(file)) return undefined
  return file.slice('docs/'.length).replace(/(^|\/)README\.md$/, '$1index.md')
}

/**
 * Rewrites the relative links of a page for its place on the site. Links to files that are not on the site lead
 * to the repository.
 */
export function withSiteLinks(markdown: string, file: string): string {
  const from = posix.dirname(placeOf(file) ?? file)
  return outsideCode(markdown, (text) =>
    text.replaceAll(/\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)/g, (_, target: string, anchor: string = '') => {
      const project = posix.join(posix.dirname(file), target).replace(/\/$/, '')
      const place = placeOf(project)
      if (place === undefined) return `](${repository}${project}${anchor})`
      const path = posix.relative(from, place)
      return `](${path.startsWith('.') ? path : `./${path}`}${anchor})`
    }),
  )
}

/** Changes the text of a page, and leaves its code blocks as they are. */
export function outsideCode(markdown: string, change: (text: string) => string): string {
  return markdown
    .split(/(^ *```[\s\S]*?^ *```$)/m)
    .map((part, index) => (index % 2 === 0 ? change(part) : part))
    .join('')
}
