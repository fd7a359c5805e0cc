import { deepEqual, equal, match } from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { nodeRelease } from '../../../../test/package/node-release.ts'
import { projectRoot } from '../../../../test/workspace.ts'
import { sendoff } from '../run-sendoff.ts'
import { newFolder } from '../tested-outbox.ts'

const versions = ['22.13.0', process.versions.node]

describe('the configuration', { concurrency: 3 }, () => {
  for (const version of versions) {
    it(`is TypeScript on Node ${version}`, async (test) => {
      const cwd = project(test)
      writeFileSync(
        join(cwd, 'sendoff.config.ts'),
        `import { defineConfig } from '@sendoff/cli'
         const file: string = 'shop.db'
         export default defineConfig({ url: \`sqlite:\${file}\`, table: 'shop_outbox', actor: 'ann' })`,
      )
      await works(test, cwd, version, /shop\.db#shop_outbox/)
    })

    it(`may have enums, and imports without extensions, on Node ${version}`, async (test) => {
      const cwd = project(test)
      writeFileSync(join(cwd, 'settings.ts'), `export enum Table { Shop = 'shop_outbox' }`)
      writeFileSync(
        join(cwd, 'sendoff.config.ts'),
        `import { Table } from './settings'
         export default { url: 'sqlite:shop.db', table: Table.Shop }`,
      )
      await works(test, cwd, version, /shop\.db#shop_outbox/)
    })

    it(`may have a store of its own on Node ${version}`, async (test) => {
      const cwd = project(test)
      writeFileSync(
        join(cwd, 'sendoff.config.mjs'),
        `import { DatabaseSync } from 'node:sqlite'
         import { sqliteStore } from 'sendoff/sqlite'
         export default {
           store: async () => sqliteStore({ open: () => new DatabaseSync('own.db'), table: 'own_outbox' }),
           close: () => console.log('closed'),
         }`,
      )
      await works(test, cwd, version, /own\.db#own_outbox[^]*closed/)
    })
  }

  it('gives way to the environment, and both to --url', async (test) => {
    const cwd = project(test)
    writeFileSync(join(cwd, 'sendoff.config.js'), `export default { url: 'sqlite:config.db' }`)
    writeFileSync(join(cwd, 'package.json'), '{"type":"module"}')
    for (const name of ['config', 'env', 'option']) {
      equal((await sendoff(['migrate', '--url', `sqlite:${name}.db`], { cwd })).code, 0)
    }
    const env = { SENDOFF_URL: 'sqlite:env.db' }
    match((await sendoff(['status'], { cwd })).stdout, /config\.db/)
    match((await sendoff(['status'], { cwd, env })).stdout, /env\.db/)
    match((await sendoff(['status', '--url', 'sqlite:option.db'], { cwd, env })).stdout, /option\.db/)
  })
})

/** A folder in which the packages of the project are installed. */
function project(test: TestContext): string {
  const folder = newFolder(test)
  mkdirSync(join(folder, 'node_modules/@sendoff'), { recursive: true })
  symlinkSync(join(projectRoot, 'packages/sendoff'), join(folder, 'node_modules/sendoff'))
  symlinkSync(join(projectRoot, 'packages/cli'), join(folder, 'node_modules/@sendoff/cli'))
  return folder
}

async function works(test: TestContext, cwd: string, version: string, pattern: RegExp): Promise<void> {
  const node = await nodeRelease(version)
  if ('missing' in node) return test.skip(node.missing)
  const options = { cwd, node: node.executable }
  const migrated = await sendoff(['migrate'], options)
  deepEqual([migrated.code, migrated.stderr], [0, ''])
  const { code, stdout, stderr } = await sendoff(['status'], options)
  deepEqual([code, stderr], [0, ''])
  match(stdout, pattern)
}
