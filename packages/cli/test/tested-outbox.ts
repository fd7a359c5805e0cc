import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type DefinedEvent, Outbox } from 'sendoff'
import { openStore, type SqlOrOtherStore } from '../src/index.ts'

/** An outbox for one test, as the program is told about it. */
export interface TestedOutbox {
  readonly url: string
  readonly table: string
  /** The options that lead to it. */
  readonly args: readonly string[]
  readonly open: () => Promise<SqlOrOtherStore>
}

/** Returns the outbox with this table in the database at this address. */
export function outboxAt(url: string, table: string): TestedOutbox {
  return { url, table, args: ['--url', url, '--table', table], open: () => openStore(url, { table }) }
}

/** A folder that is gone with the test. */
export function newFolder(test: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'sendoff-cli-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** An outbox in a new SQLite file, gone with the test. */
export async function newSqliteOutbox(test: TestContext, table = 'outbox_event'): Promise<TestedOutbox> {
  const outbox = outboxAt(`sqlite:${join(newFolder(test), 'test.db')}`, table)
  const store = await outbox.open()
  await store.migrate()
  await store.close()
  return outbox
}

/** Runs `work` with a worker of the outbox that delivers `OrderPaid`, and fails at `OrderPlaced`. */
export async function withWorker<Result>(
  { open }: TestedOutbox,
  work: (outbox: Outbox<unknown, unknown>) => Promise<Result>,
): Promise<Result> {
  const outbox = Outbox.multiNode<unknown>({ store: await open(), maxAttempts: 1, logger: false })
  outbox.on('OrderPaid', () => {})
  outbox.on('OrderPlaced', () => {
    throw Object.assign(new Error('the carrier is away'), { name: 'TimeoutError' })
  })
  await outbox.start()
  try {
    return await work(outbox)
  } finally {
    await outbox.close()
  }
}

/** Writes events and delivers them: `dead` fail, and `done` succeed. */
export async function fill(
  tested: TestedOutbox,
  { dead, done }: { dead: number; done: number },
): Promise<void> {
  await withWorker(tested, async (outbox) => {
    await outbox.transaction(async () => {
      for (let index = 0; index < dead; index++) await outbox.write('OrderPlaced', { orderId: `o-${index}` })
      for (let index = 0; index < done; index++) await outbox.write('OrderPaid', { orderId: `o-${index}` })
    })
    await outbox.drain()
  })
}

/** Writes events that stay pending. */
export async function writePending(
  { open }: TestedOutbox,
  eventType: string | DefinedEvent<unknown>,
  count: number,
): Promise<readonly string[]> {
  const outbox = await Outbox.writerOnly<unknown>({ store: await open(), logger: false }).start()
  try {
    const ids: string[] = []
    for (let from = 0; from < count; from += 500) {
      await outbox.transaction(async () => {
        for (let index = from; index < Math.min(count, from + 500); index++) {
          const payload = { index }
          const written =
            typeof eventType === 'string'
              ? outbox.write(eventType, payload)
              : outbox.write(eventType, payload)
          ids.push(await written)
        }
      })
    }
    return ids
  } finally {
    await outbox.close()
  }
}
