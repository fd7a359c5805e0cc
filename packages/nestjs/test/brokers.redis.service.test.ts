import { deepEqual, match } from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { nodeArguments } from '../../../test/decorators/node-arguments.ts'
import { temporaryFolder } from '../../../test/services/machine/temporary-folder.ts'
import { TestSmtpServer } from '../../sendoff/test/mail/smtp-server.ts'

describe('a publisher, a consumer and a mail worker in an application', () => {
  it('work together, drain at the end, and leave nothing alive', async (test) => {
    const url = process.env['REDIS_URL']!
    const stream = `nest_${process.pid}`
    const folder = temporaryFolder('nest-brokers')
    const redis = new Redis(url)
    const server = await TestSmtpServer.start(test)
    test.after(async () => {
      await redis.del(stream)
      await redis.quit()
      folder.remove()
    })
    const program = join(import.meta.dirname, 'broker-process.ts')
    const smtp = `smtp://127.0.0.1:${server.port}`
    const shop = spawn(
      process.execPath,
      [...nodeArguments('@Module()'), program, url, smtp, stream, join(folder.path, 'shop.db')],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    let output = ''
    shop.stdout.on('data', (text: Buffer) => (output += text.toString()))
    const [code, signal] = (await once(shop, 'close')) as [number | null, string | null]
    deepEqual([code, signal], [0, null])
    match(output, /^handled 20\n$/)
    deepEqual([await redis.xlen(stream), server.received.length], [20, 20])
  })
})
