import { deepEqual, equal } from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { before, describe, it } from 'node:test'
import { postgresDatabase } from '../../packages/sendoff/test/transactions/postgres-database.ts'
import { temporaryFolder } from '../services/machine/temporary-folder.ts'
import { followPage } from './followed-page.ts'
import { InstalledPackage } from './installed-package.ts'
import { sectionOf } from './page-steps.ts'

const pages = globSync(join(import.meta.dirname, '../../docs/orms/*.md')).sort()

describe(
  'a reader who follows getting started or the page of an ORM in an empty folder',
  { concurrency: 4 },
  () => {
    let installed: InstalledPackage
    before(async () => {
      installed = await InstalledPackage.create('sendoff')
    })

    it('sees an event of a process that is gone delivered by another, after five minutes with PostgreSQL', async (test) => {
      const database = await postgresDatabase()
      test.after(() => database.drop())
      const folder = temporaryFolder('getting-started')
      test.after(() => folder.remove())
      const page = readFileSync(join(import.meta.dirname, '../../docs/getting-started.md'), 'utf8')
      const followed = await followPage(sectionOf(page, 'PostgreSQL in five minutes'), {
        folder: folder.path,
        packages: { sendoff: installed.folder },
        env: { DATABASE_URL: database.url },
      })
      const [run, ...others] = followed.filter(({ promised }) => promised !== undefined)
      equal(run?.printed, 'An order of 42 was placed.\n')
      equal(run.promised, run.printed)
      deepEqual(others, [])
      deepEqual(await database.query('select status from outbox_event'), [{ status: 1 }])
    })

    for (const page of pages) {
      it(`sees the event of an order delivered, and again at the next run: ${basename(page)}`, async (test) => {
        const database = await postgresDatabase()
        test.after(() => database.drop())
        const folder = temporaryFolder(basename(page, '.md'))
        test.after(() => folder.remove())
        const follow = async (markdown: string) => {
          const followed = await followPage(markdown, {
            folder: folder.path,
            packages: { sendoff: installed.folder },
            // Prisma generates without an engine, but would download a missing one, and send telemetry.
            env: {
              DATABASE_URL: database.url,
              PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
              CHECKPOINT_DISABLE: '1',
            },
          })
          return followed.filter(({ promised }) => promised !== undefined)
        }

        const [run, ...others] = await follow(readFileSync(page, 'utf8'))
        equal(run?.printed, 'An order of 42 was placed.\n')
        equal(run.promised, run.printed)
        deepEqual(others, [])
        const again = await follow(`\`\`\`sh\n${run.command}\`\`\`\n\n\`\`\`text\n${run.promised}\`\`\`\n`)
        deepEqual(again, [run])
        deepEqual(await database.query('select total from orders'), [{ total: 42 }, { total: 42 }])
      })
    }
  },
)
