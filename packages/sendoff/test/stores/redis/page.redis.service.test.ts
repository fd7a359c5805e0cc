import { deepEqual, equal } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { after, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { snippetModule } from '../../../../../test/docs/snippet-module.ts'
import { SnippetRun } from '../../../../../test/docs/snippet-run.ts'
import { redis } from '../../../../../test/services/servers/redis/redis.ts'
import { redisServer } from '../../../../../test/services/servers/redis/redis-server.ts'
import { temporaryFolder } from '../../../../../test/services/machine/temporary-folder.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'

const root = resolve(import.meta.dirname, '../../../../..')
const page = 'docs/redis.md'

// Where the address of one is given, there need not be another.
const skip = !(await redis.find()) && 'Redis itself is not on this machine'

describe('the page of Redis', () => {
  const run = new SnippetRun([snippetModule(page, readFileSync(join(root, page), 'utf8'))])
  after(run.remove)

  it('compiles', () => deepEqual(run.typeErrors(), []))

  it('runs to its end', { skip }, async (test) => {
    const folder = temporaryFolder('redis')
    const server = await redisServer({ folder: folder.path, persistence: 'everyWrite' })
    const client = new Redis(server.url)
    test.after(async () => {
      client.disconnect()
      await server.kill()
      folder.remove()
    })
    Object.assign(process.env, { REDIS_URL: server.url, SENDOFF_PAGES: 'with services' })

    equal(await run.failureOf(page), undefined)
    equal(await client.hget('{shop}:order:1', 'state'), 'sent')
    equal(await redisStore({ client, prefix: 'shop' }).count({}), 2)
    equal(await redisStore({ client, prefix: 'mails' }).count({ status: [1] }), 1)
  })
})
