import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { StoreWith } from '../../src/store/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { enqueue, openMail, startMail, startWorker, until } from './mail-fixture.ts'
import { RecordingTransport } from './recording-transport.ts'
import { TestSmtpServer } from './smtp-server.ts'

describe('a worker', () => {
  it('has at most as many sent and unmarked mails as it sends at once', async (test) => {
    let open = Promise.withResolvers<void>()
    const store: StoreWith<any, 'people'> = memoryStore()
    const slow = new Proxy(store, {
      get: (target, name) =>
        name === 'settle'
          ? async (...args: Parameters<typeof store.settle>) => {
              await open.promise
              return target.settle(...args)
            }
          : (Reflect.get(target, name) as unknown),
    })
    const mail = await openMail(test, slow)
    for (let number = 0; number < 40; number++) await enqueue(mail)
    const smtp = await TestSmtpServer.start(test)
    const worker = await startWorker(test, mail, smtp.transport(test), { workerCount: 5 })
    await smtp.accepted(5)
    // Any mail that would begin without a mark has had its chance by then.
    for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve))
    equal(smtp.received.length, 5)

    open.resolve()
    await worker.drain()
    equal(smtp.received.length, 40)
    open = Promise.withResolvers()
    open.resolve()
    deepEqual(await mail.failed(), [])
  })

  it('removes mails soon after they have been kept long enough', async (test) => {
    const { mail, worker, clock } = await startMail(test, new RecordingTransport(), {
      bodyRetentionMs: 600_000,
    })
    const id = await enqueue(mail)
    await worker.drain()
    await clock.advance(599_000)
    ok((await mail.find(id)) !== undefined)
    await clock.advance(62_000)
    await until(
      () => mail.find(id),
      (found) => found === undefined,
    )
  })
})
