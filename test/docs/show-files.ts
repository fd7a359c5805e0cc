import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withShownFiles } from './shown-files.ts'

const root = join(import.meta.dirname, '../..')

// `node test/docs/show-files.ts` brings the files up to date that pages show.
for (const page of globSync('docs/**/*.md', { cwd: root }).map((path) => join(root, path))) {
  const markdown = readFileSync(page, 'utf8')
  const shown = withShownFiles(markdown)
  if (shown !== markdown) writeFileSync(page, shown)
}
