import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { EventStatus, Outbox } from 'sendoff'
import { sqliteStore } from 'sendoff/sqlite'
import { RunningProgram } from '../../../test/recipes/running-program.ts'
import { temporaryFolder } from '../../../test/services/machine/temporary-folder.ts'

const everyMs = 500
const report = /Report of \S+/g

describe('the recipe for recurring work', () => {
  it('does the work of each tick once, whichever processes run, also if one has undone its write', async (test) => {
    const folder = temporaryFolder('recurring')
    const file = join(folder.path, 'shop.db')
    test.after(() => folder.remove())
    const start = async () => {
      const started = await RunningProgram.start([process.execPath, 'recurring.ts'], /is ready/, {
        cwd: import.meta.dirname,
        env: { SHOP_DATABASE: file, EVERY_MS: String(everyMs) },
      })
      test.after(() => started.kill())
      return started
    }
    const programs = await Promise.all([start(), start(), start()])
    const undone = (Math.floor(Date.now() / everyMs) + 2) * everyMs
    await writeAndUndo(file, new Date(undone).toISOString())
    const reports = () => programs.flatMap(({ output }) => output.match(report) ?? []).sort()

    const [first, ...others] = programs
    await written(4, programs)
    await first.end()
    await written(reports().length + 3, others)
    await Promise.all(others.map((program) => program.end()))

    const times = reports().map((line) => Date.parse(line.slice('Report of '.length)))
    equal(new Set(times).size, times.length, 'a tick came twice')
    ok(times.every((time) => time % everyMs === 0))
    ok(times.includes(undone), 'the key of an undone write is used up')
    const rows = new DatabaseSync(file).prepare('select status from outbox_event').all()
    deepEqual(
      rows.map(({ status }) => status),
      times.map(() => EventStatus.DONE),
    )

    /** Waits until there are so many reports. */
    async function written(count: number, running: readonly RunningProgram[]): Promise<void> {
      while (reports().length < count) await Promise.race(running.map((program) => program.more()))
    }
  })
})

/** Writes the event of a tick as the recipe does, and undoes the transaction. */
async function writeAndUndo(file: string, time: string): Promise<void> {
  const outbox = Outbox.writerOnly({ store: sqliteStore({ open: () => new DatabaseSync(file) }) })
  await outbox.start()
  const undone = outbox.transaction(async () => {
    await outbox.write('ReportDue', { time }, { idempotencyKey: `report-${time}` })
    throw new Error('undone')
  })
  await rejects(undone, /undone/)
  await outbox.close()
}
