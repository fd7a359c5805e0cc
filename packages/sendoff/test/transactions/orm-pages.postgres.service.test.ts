import { deepEqual, equal } from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import { after, describe, it } from 'node:test'
import { type SnippetModule, snippetModule } from '../../../../test/docs/snippet-module.ts'
import { SnippetRun } from '../../../../test/docs/snippet-run.ts'
import { PrismaProject } from './prisma-project.ts'
import { postgresDatabase } from './postgres-database.ts'

const root = resolve(import.meta.dirname, '../../../..')
const prisma = await PrismaProject.generate('postgresql')

describe('the page of each ORM', () => {
  const pages = globSync('docs/orms{.md,/*.md}', { cwd: root }).map((page) => page.replaceAll(sep, '/'))
  const modules = pages
    .sort()
    .map((page) => withPrisma(snippetModule(page, readFileSync(join(root, page), 'utf8'))))
  const run = new SnippetRun(modules)
  after(run.remove)

  it('compiles, also with the client that Prisma generates', () => deepEqual(run.typeErrors(), []))

  for (const page of pages) {
    it(`runs to its end: ${page}`, async (test) => {
      const database = await postgresDatabase()
      test.after(() => database.drop())
      Object.assign(process.env, { DATABASE_URL: database.url, SENDOFF_PAGES: 'with services' })
      equal(await run.failureOf(page), undefined)
      deepEqual(await database.query('select status, count(*)::int from outbox_event group by 1'), [
        { status: 1, count: 3 },
      ])
    })
  }
})

/** The page of Prisma only declares the client, which has to be generated. */
function withPrisma({ code, ...module }: SnippetModule): SnippetModule {
  const client = relative(join(root, 'test/docs/.snippets/run'), prisma.clientFile)
  return {
    ...module,
    code: code?.replace(/declare const PrismaClient.+/, `import { PrismaClient } from '${client}'`),
  }
}
