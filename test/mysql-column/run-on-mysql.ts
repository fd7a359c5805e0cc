import { fail } from 'node:assert/strict'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runTestFile } from '../runner/run-test-file.ts'
import { temporaryFolder } from '../services/machine/temporary-folder.ts'
import { always, belongsTo, columnParts, filesOfMariadb } from './mysql-column.ts'

const isFull = process.env['SENDOFF_TEST_SCALE'] === 'full'

/**
 * Runs the tests of MariaDB on MySQL, for the files of a part. They get the address of MySQL as that of MariaDB.
 * Those that start a server of their own start MySQL: see `test/services/servers/mysql/on-mysql.ts`.
 */
export function runOnMysql(name: string, part: keyof typeof columnParts): void {
  const root = process.cwd()
  const reports = temporaryFolder('reports')
  after(() => reports.remove())

  const files = filesOfMariadb(root)
    .filter((file) => belongsTo(columnParts[part], file))
    .filter((file) => isFull || always.includes(file))

  describe(`on MySQL, what is tested on MariaDB: ${name}`, () => {
    if (files.length === 0) {
      it('all files', { skip: 'they run with SENDOFF_TEST_SCALE=full' }, () => {})
    }
    for (const [index, file] of files.entries()) {
      it(file, async (test) => {
        const { tests, notes, output } = await runTestFile(file, {
          root,
          reportFile: join(reports.path, `${index}.jsonl`),
          environment: { ...process.env, MARIADB_URL: process.env['MYSQL_URL'], SENDOFF_ON_MYSQL: 'yes' },
          timeoutMs: 1_500_000,
          interrupted: test.signal,
        })
        for (const note of notes) test.diagnostic(note)
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
