import { deepEqual, equal } from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve, sep } from 'node:path'
import { after, describe, it } from 'node:test'
import { prismaClients } from '../../../../test/docs/prisma-clients.ts'
import { snippetModule } from '../../../../test/docs/snippet-module.ts'
import { SnippetRun } from '../../../../test/docs/snippet-run.ts'
import { MysqlDatabase } from '../stores/mysql/mysql-database.ts'
import { postgresDatabase } from './postgres-database.ts'

const root = resolve(import.meta.dirname, '../../../..')
const clients = await prismaClients()

describe('the page of each ORM', () => {
  const pages = globSync('docs/orms{.md,/*.md}', { cwd: root }).map((page) => page.replaceAll(sep, '/'))
  const modules = pages
    .sort()
    .map((page) => clients.importedBy(snippetModule(page, readFileSync(join(root, page), 'utf8'))))
  const run = new SnippetRun(modules)
  after(run.remove)

  it('compiles, also with the clients that Prisma generates', () => deepEqual(run.typeErrors(), []))

  for (const page of pages) {
    it(`runs to its end: ${page}`, async (test) => {
      const database = await postgresDatabase()
      const mysql = await MysqlDatabase.create(`page_${pages.indexOf(page)}`)
      test.after(() => Promise.all([database.drop(), mysql.drop()]))
      const urls = { DATABASE_URL: database.url, MYSQL_URL: mysql.url }
      Object.assign(process.env, { ...urls, SENDOFF_PAGES: 'with services' })
      equal(await run.failureOf(page), undefined)
      deepEqual(await database.query('select distinct status from outbox_event'), [{ status: 1 }])
    })
  }
})
