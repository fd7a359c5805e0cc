import { fail } from 'node:assert/strict'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { findTestFiles } from '../runner/find-test-files.ts'
import { runTestFile } from '../runner/run-test-file.ts'
import { neededServices } from '../services/launcher/needed-services.ts'
import { temporaryFolder } from '../services/machine/temporary-folder.ts'

/** Files whose tests on MySQL are files of their own, and why. */
const left: Readonly<Record<string, string>> = {
  'packages/sendoff/test/stores/mysql/mysql2-store.mariadb.service.test.ts': 'mysql2-store.mysql',
  'packages/sendoff/test/stores/mysql/claims-by-keys.mariadb.service.test.ts': 'claims-by-keys.mysql',
  'packages/sendoff/test/stores/mysql/growing-schema.mariadb.service.test.ts': 'growing-schema.mysql',
  'test/services/servers/mariadb/mariadb.mariadb.service.test.ts': 'it tests the service itself',
}

/** The most telling ones, which run at every scale: many processes at once, and the transactions of an ORM. */
const always: readonly string[] = [
  'packages/sendoff/test/stores/mysql/sharing.mariadb.service.test.ts',
  'packages/sendoff/test/transactions/prisma.mariadb.service.test.ts',
]

const isFull = process.env['SENDOFF_TEST_SCALE'] === 'full'

/**
 * Runs the tests of MariaDB on MySQL, for the files in one of `folders` that need the services that `isRun`
 * accepts. They get the address of MySQL as that of MariaDB. Those that start a server of their own start MySQL:
 * see `test/services/servers/mysql/on-mysql.ts`.
 */
export function runOnMysql(
  name: string,
  folders: readonly string[],
  isRun: (services: readonly string[]) => boolean = (services) => services.join() === 'mariadb',
): void {
  const root = process.cwd()
  const reports = temporaryFolder('reports')
  after(() => reports.remove())

  const files = findTestFiles(root, { words: ['.mariadb.'], unitOnly: false })
    .filter((file) => folders.some((folder) => file.startsWith(folder)))
    .filter((file) => isRun(neededServices(file)) && left[file] === undefined)
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
        // Each is a test of its own here, so that the run counts it, and lists what it skips.
        for (const { path, outcome, reason, error } of tests) {
          await test.test(path.join(' > ') || file, { skip: outcome === 'skipped' && reason }, () => {
            if (outcome === 'failed') fail(`${error}\n\nOutput of ${file}:\n${output}`)
          })
        }
      })
    }
  })
}
