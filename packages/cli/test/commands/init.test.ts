import { deepEqual, equal, match } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { projectRoot } from '../../../../test/workspace.ts'
import { sendoff } from '../run-sendoff.ts'
import { newFolder } from '../tested-outbox.ts'

describe('init', { concurrency: 3 }, () => {
  for (const language of ['TypeScript', 'JavaScript'] as const) {
    it(`writes a project in ${language} that runs: configuration, migration, and a first event`, async (test) => {
      const cwd = project(test)
      if (language === 'TypeScript') writeFileSync(join(cwd, 'tsconfig.json'), '{}')
      const end = language === 'TypeScript' ? 'ts' : 'mjs'
      const { code, stdout, stderr } = await sendoff(['init', '--yes'], { cwd })
      equal(code, 0, stderr)
      match(stdout, new RegExp(`written sendoff\\.config\\.${end}`))
      match(stdout, new RegExp(`npx sendoff migrate\n +node first-event\\.${end}`))

      // The migration is the whole schema: no other step is needed.
      const database = new DatabaseSync(join(cwd, 'app.db'))
      database.exec(readFileSync(join(cwd, 'migrations/0001-outbox.sql'), 'utf8'))
      database.close()
      equal((await sendoff(['migrate', '--check'], { cwd })).code, 0)
      const first = await promisify(execFile)(process.execPath, [`first-event.${end}`], { cwd })
      equal(first.stdout, 'An order was placed: o-1\n')
      match((await sendoff(['status'], { cwd })).stdout, /pending 0 .* done 1/)
    })
  }

  it('takes the database from the drivers of the project, and overwrites nothing', async (test) => {
    const cwd = project(test)
    writeFileSync(join(cwd, 'package.json'), JSON.stringify({ dependencies: { mariadb: '3' } }))
    writeFileSync(join(cwd, 'outbox.mjs'), '// mine')
    const { code, stdout } = await sendoff(['init'], { cwd })
    equal(code, 0)
    match(stdout, /kept {4}outbox\.mjs: it exists/)
    equal(readFileSync(join(cwd, 'outbox.mjs'), 'utf8'), '// mine')
    match(readFileSync(join(cwd, 'sendoff.config.mjs'), 'utf8'), /mysql:\/\//)
    match(readFileSync(join(cwd, 'migrations/0001-outbox.sql'), 'utf8'), /engine/i)
  })

  it('writes no SQL for Redis', async (test) => {
    const cwd = project(test)
    equal((await sendoff(['init', '--database', 'redis'], { cwd })).code, 0)
    deepEqual([existsSync(join(cwd, 'migrations')), existsSync(join(cwd, 'outbox.mjs'))], [false, true])
  })
})

function project(test: TestContext): string {
  const folder = newFolder(test)
  mkdirSync(join(folder, 'node_modules/@sendoff'), { recursive: true })
  symlinkSync(join(projectRoot, 'packages/sendoff'), join(folder, 'node_modules/sendoff'))
  symlinkSync(join(projectRoot, 'packages/cli'), join(folder, 'node_modules/@sendoff/cli'))
  return folder
}
