/**
 * Returns the name of a heading in links, as code hosts make it: lower case, without punctuation, spaces as hyphens.
 * The links of the pages then work in the repository and on the site.
 */
export function headingAnchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')
}
