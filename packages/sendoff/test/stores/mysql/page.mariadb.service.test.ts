import { deepEqual, equal } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { after, describe, it } from 'node:test'
import { snippetModule } from '../../../../../test/docs/snippet-module.ts'
import { SnippetRun } from '../../../../../test/docs/snippet-run.ts'
import { MysqlDatabase } from './mysql-database.ts'

const root = resolve(import.meta.dirname, '../../../../..')
const page = 'docs/mysql.md'

describe('the page of MySQL', () => {
  const run = new SnippetRun([snippetModule(page, readFileSync(join(root, page), 'utf8'))])
  after(run.remove)

  it('compiles', () => deepEqual(run.typeErrors(), []))

  it('runs to its end', async (test) => {
    const database = await MysqlDatabase.create('page')
    test.after(() => database.drop())
    Object.assign(process.env, { DATABASE_URL: database.url, SENDOFF_PAGES: 'with services' })

    equal(await run.failureOf(page), undefined)
    const [rows] = await database
      .mysql2Pool()
      .query('select status, count(*) as count from outbox_event group by 1')
    deepEqual(rows, [{ status: 1, count: 2 }])
  })
})
