import { equal, match } from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { installRecipe, withoutInstall } from '../../../test/recipes/installed-recipe.ts'
import { judgeWebRecipe } from '../../../test/recipes/judge-web-recipe.ts'
import { describeEnd, ProcessGroup } from '../../../test/services/processes/process-group.ts'

const runtimes = {
  Bun: { package: 'bun@1.4.4', command: ['bun'] },
  Deno: { package: 'deno@2.9.6', command: ['deno', 'run', '--allow-all'] },
}
const servers = ['express', 'fastify', 'hono']
const frameworks = [
  'express@5.3.0',
  'fastify@5.12.8',
  'fastify-plugin@6.0.1',
  'hono@4.13.18',
  '@hono/node-server@2.1.8',
]
const clients = ['memory', 'node:sqlite', 'better-sqlite3', 'pg', 'postgres', 'mysql2', 'ioredis']
const drivers = ['better-sqlite3@13.0.3', 'pg@8.23.1', 'postgres@3.4.9', 'mysql2@3.24.5', 'ioredis@6.0.0']
const checks = join(import.meta.dirname, '../../../test/recipes/check-stores.ts')

for (const [name, { package: runtime, command }] of Object.entries(runtimes)) {
  describe(`the recipes on ${name}`, { skip: withoutInstall }, () => {
    it('keep their promises with every framework, and stores theirs with every client', async (test) => {
      const folder = await installRecipe(test, 'web', [runtime, ...frameworks, ...drivers])
      if (folder === undefined) return
      cpSync(checks, join(folder, 'check-stores.ts'))
      const [program, ...args] = command
      const start = [join(folder, 'node_modules/.bin', program!), ...args]

      for (const server of servers) {
        await test.test(`${server}-server.ts`, (each) =>
          judgeWebRecipe(each, [...start, `${server}-server.ts`], folder),
        )
      }
      for (const client of clients) {
        await test.test(client, async () => {
          match(
            await outputOf([...start, 'check-stores.ts', client], folder),
            /^[1-9]\d* checks passed, 0 failed\n$/m,
          )
        })
      }
      await test.test('not with bun:sqlite', async () => {
        match(
          await outputOf([...start, 'check-stores.ts', 'bun:sqlite'], folder),
          name === 'Bun' ? /\n0 checks passed/ : /Unsupported scheme/,
        )
      })
    })
  })
}

async function outputOf([program, ...args]: readonly string[], cwd: string): Promise<string> {
  const group = new ProcessGroup(program!, args, { cwd, env: { ...process.env, NO_COLOR: '1' } })
  const end = await group.ended
  await group.stop()
  equal(end.signal, null, describeEnd(end))
  return group.output
}
