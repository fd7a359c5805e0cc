import { deepEqual, equal, match, notEqual, throws } from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { describe, it } from 'node:test'
import { shownFiles, withShownFiles } from './shown-files.ts'
import { snippetModule } from './snippet-module.ts'

const root = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

describe('the files that pages show', () => {
  const pages = globSync('docs/**/*.md', { cwd: root }).sort()

  for (const page of pages.filter((each) => shownFiles(read(each)).length > 0)) {
    it(`are in ${page} as the tests run them; "node test/docs/show-files.ts" brings it up to date`, () => {
      equal(read(page), withShownFiles(read(page)))
    })
  }

  it('are named right above, so that a reader knows what to save them as', () => {
    const unnamed = pages.flatMap((page) =>
      [...read(page).matchAll(/^(.*)\n+<!-- file: examples\/recipes\/\w+\/(\S+) -->$/gm)]
        .filter(([, above = '', name]) => !above.includes(`\`${name}\``))
        .map(([, , name]) => `${page}: ${name}`),
    )
    deepEqual(unnamed, [])
  })

  it('include every file of a recipe', () => {
    const files = globSync('examples/recipes/*/**', { cwd: root, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) =>
        join(entry.parentPath, entry.name)
          .slice(root.length + 1)
          .replaceAll(sep, '/'),
      )
      .filter((file) => !file.endsWith('.test.ts'))
    const shown = pages.flatMap((page) => shownFiles(read(page)))
    deepEqual(
      files.filter((file) => !shown.includes(file)),
      [],
    )
  })
})

describe('a page that shows a file', () => {
  const file = 'examples/inbox/unreliable-queue.ts'
  const page = `# Page\n\n<!-- file: ${file} -->\n\n\`\`\`ts\nold()\n\`\`\`\n\nText.\n`

  it('gets the text of the file, and keeps its own', () => {
    const shown = withShownFiles(page)
    notEqual(shown, page)
    equal(shown, `# Page\n\n<!-- file: ${file} -->\n\n\`\`\`ts\n${read(file)}\`\`\`\n\nText.\n`)
    equal(withShownFiles(shown), shown)
    equal(withShownFiles(page.replace(/```ts\n[^`]*```\n\n/, '')), shown)
  })

  it('leaves it out of its own program, whatever its language', () => {
    const yaml = page.replace('```ts', '```yaml')
    for (const markdown of [page, yaml]) {
      deepEqual(snippetModule('page.md', markdown), { page: 'page.md', code: undefined, mistakes: [] })
    }
    match(snippetModule('page.md', '```yaml\na: 1\n```\n').mistakes.join(), /has a block in "yaml"/)
  })

  it('may not name a file that is not there, or one of an unknown kind', () => {
    throws(() => withShownFiles('<!-- file: gone.ts -->\n\n'), /gone\.ts, which does not exist/)
    throws(() => withShownFiles('<!-- file: docs/pictures/trace.svg -->\n\n'), /give its language/)
  })
})
