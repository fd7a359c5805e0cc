import { deepEqual, equal, match } from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { after, describe, it } from 'node:test'
import { prismaClients } from './prisma-clients.ts'
import { type SnippetModule, snippetModule } from './snippet-module.ts'
import { SnippetRun } from './snippet-run.ts'

const root = join(import.meta.dirname, '../..')
const clients = await prismaClients()

describe('the snippets of the documentation', { concurrency: true }, () => {
  const pages = ['README.md', 'packages/nestjs/README.md', ...globSync('docs/**/*.md', { cwd: root })].map(
    (page) => page.replaceAll(sep, '/'),
  )
  const modules = pages
    .sort()
    .map((page) => clients.importedBy(snippetModule(page, readFileSync(join(root, page), 'utf8'))))
  const withCode = modules.filter(({ code }) => code !== undefined)
  const run = new SnippetRun(withCode)
  after(run.remove)

  it('are found', () => {
    deepEqual(
      modules.flatMap(({ mistakes }) => mistakes),
      [],
    )
    equal(withCode.length > 0, true)
  })

  it('compile with the settings of the project', () => deepEqual(run.typeErrors(), []))

  for (const { page } of withCode) {
    it(`${page} runs to its end`, async () => equal(await run.failureOf(page), undefined))
  }
})

describe('a page', () => {
  it('is one module of its blocks and its hidden code, each line at its place', () => {
    const { code, mistakes } = snippetModule(
      'page.md',
      [
        '# Title',
        '<!-- snippet: const one = 1 -->',
        '```ts',
        'const two = 2',
        '```',
        'Text `const no = 0`, and a comment: <!-- not code -->',
        '<!-- snippet:',
        'const three = 3',
        '-->',
        '```sh',
        'npm test',
        '```',
      ].join('\n'),
    )
    deepEqual(mistakes, [])
    deepEqual(
      code!.split('\n').map((line) => line.trim()),
      ['', 'const one = 1', '', 'const two = 2', '', '', '', 'const three = 3', '', '', '', ''],
    )
    equal(code!.split('\n')[1]!.indexOf('const one'), 14)
  })

  it('without code has no module', () => {
    equal(snippetModule('page.md', 'Text\n\n```sh\nnpm test\n```\n').code, undefined)
  })

  it('may not hide code from the test behind another language', () => {
    for (const language of ['js', 'typescript', 'ts no-run', 'TS', '']) {
      const { mistakes } = snippetModule('page.md', `Text\n\n\`\`\`${language}\nconst one = 1\n\`\`\`\n`)
      match(mistakes.join('\n'), /^page\.md:3 has a block in .+: code is "ts"/, language)
    }
  })

  it('may show a file of a page that a test follows word by word', () => {
    equal(snippetModule('page.md', '```js\n// place.mjs\nplace()\n```\n').code, undefined)
    deepEqual(snippetModule('page.md', '```js\n// place.mjs\nplace()\n```\n').mistakes, [])
  })

  it('continues with what a program on it has opened', () => {
    const file = '```ts\n// shop.ts\nconst outbox = open()\nawait outbox.close()\nawait pool.end()\n```\n'
    const { code, mistakes } = snippetModule('page.md', `${file}\n\`\`\`ts\noutbox.write()\n\`\`\`\n`)
    deepEqual(mistakes, [])
    deepEqual(
      code!.split('\n').filter((line) => line !== ''),
      ['// shop.ts', 'const outbox = open()', 'outbox.write()'],
    )
  })

  it('may not leave a block or a hidden snippet open', () => {
    deepEqual(snippetModule('page.md', '```ts\nconst one = 1').mistakes, ['page.md:1 is never closed'])
    deepEqual(snippetModule('page.md', '\n<!-- snippet:\nconst one = 1').mistakes, [
      'page.md:2 is never closed',
    ])
  })
})

describe('a forged page', { concurrency: true }, () => {
  const forged = (page: string, ...code: string[]): SnippetModule =>
    snippetModule(page, ['# Forged', '', '```ts', ...code, '```', ''].join('\n'))
  const modules = [
    forged('docs/mistyped.md', `import { Outbox } from 'sendoff'`, `Outbox.multiNode({ listeners: 1 })`),
    forged('docs/unused.md', `const unused: string = [1, 2, 3][0]`),
    forged('docs/failing.md', `console.log('a clue')`, `throw new Error('the reason')`),
    forged('docs/exiting.md', `process.exit(1)`),
    forged('docs/endless.md', `setInterval(() => {}, 1_000)`),
    forged('docs/good.md', `import { z } from 'zod'`, `z.string().parse('text')`),
  ]
  const run = new SnippetRun(modules)
  after(run.remove)

  it('that does not compile is reported by page and line', () => {
    const errors = run.typeErrors().join('\n')
    match(errors, /^docs\/mistyped\.md:5 TS\d+ /m)
    match(errors, /^docs\/unused\.md:4 TS2322 .*undefined/m)
    match(errors, /^docs\/unused\.md:4 TS6133 /m)
    equal(/failing|good/.test(errors), false)
  })

  it('that throws fails, with its output and its own line', async () => {
    const failure = await run.failureOf('docs/failing.md')
    match(failure!, /^docs\/failing\.md ended with exit code 1\. Its output:\na clue\n/)
    match(failure!, /docs\/failing\.md:5\b/)
    match(failure!, /the reason/)
  })

  it('that exits with 1 fails', async () => {
    match((await run.failureOf('docs/exiting.md'))!, /ended with exit code 1/)
  })

  it('that does not end fails', async () => {
    match((await run.failureOf('docs/endless.md', 500))!, /did not end within 500 ms/)
  })

  it('that is right passes', async () => {
    equal(await run.failureOf('docs/good.md'), undefined)
  })
})
