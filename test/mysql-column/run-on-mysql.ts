import { equal } from 'node:assert/strict'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { findTestFiles } from '../runner/find-test-files.ts'
import { runTestFile } from '../runner/run-test-file.ts'
import { neededServices } from '../services/launcher/needed-services.ts'
import { temporaryFolder } from '../services/machine/temporary-folder.ts'

/** Files whose tests on MySQL are files of their own, that use what only MariaDB has, or that fail on MySQL. */
const left: Readonly<Record<string, string>> = {
  'packages/sendoff/test/stores/mysql/mysql2-store.mariadb.service.test.ts': 'mysql2-store.mysql',
  'packages/sendoff/test/stores/mysql/claims-by-keys.mariadb.service.test.ts': 'claims-by-keys.mysql',
  'packages/sendoff/test/stores/mysql/growing-schema.mariadb.service.test.ts': 'growing-schema.mysql',
  'packages/sendoff/test/stores/mysql/doctor.mariadb.service.test.ts': 'it uses the engine Aria',
  'packages/sendoff/test/stores/mysql/rights.mariadb.service.test.ts': 'MySQL demands one more right',
  'test/services/servers/mariadb/mariadb.mariadb.service.test.ts': 'it tests the service itself',
}

/** The most telling ones, which run at every scale: many processes at once, and the transactions of an ORM. */
const always: readonly string[] = [
  'packages/sendoff/test/stores/mysql/sharing.mariadb.service.test.ts',
  'packages/sendoff/test/transactions/prisma.mariadb.service.test.ts',
]

const isFull = process.env['SENDOFF_TEST_SCALE'] === 'full'

/**
 * Runs the tests of MariaDB on MySQL, for the files in one of `folders`. They get the address of MySQL as that
 * of MariaDB. Those that start a server of their own start MySQL: see `test/services/servers/mysql/on-mysql.ts`.
 */
export function runOnMysql(name: string, folders: readonly string[]): void {
  const root = process.cwd()
  const reports = temporaryFolder('reports')
  after(() => reports.remove())

  const files = findTestFiles(root, { words: ['.mariadb.service.test.ts'], unitOnly: false })
    .filter((file) => folders.some((folder) => file.startsWith(folder)))
    .filter((file) => neededServices(file).join() === 'mariadb' && left[file] === undefined)
    .filter((file) => isFull || always.includes(file))

  describe(`on MySQL, what is tested on MariaDB: ${name}`, () => {
    if (files.length === 0) {
      it('all files', { skip: 'they run with SENDOFF_TEST_SCALE=full' }, () => {})
    }
    for (const [index, file] of files.entries()) {
      it(file, async (test) => {
        const { tests, output } = await runTestFile(file, {
          root,
          reportFile: join(reports.path, `${index}.jsonl`),
          environment: { ...process.env, MARIADB_URL: process.env['MYSQL_URL'], SENDOFF_ON_MYSQL: 'yes' },
          timeoutMs: 1_500_000,
          interrupted: test.signal,
        })
        const failed = tests.flatMap((each) =>
          each.outcome === 'failed' ? [`${each.path.join(' > ')}: ${each.error}`] : [],
        )
        equal(failed.join('\n\n'), '', `${failed.join('\n\n')}\n\nIts output:\n${output}`)
      })
    }
  })
}
