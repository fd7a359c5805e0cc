import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { defineEvent, Outbox } from 'sendoff'
import { sqliteStore } from 'sendoff/sqlite'

const everyMs = Number(process.env.EVERY_MS ?? 3_600_000)
const file = process.env.SHOP_DATABASE ?? 'shop.db'

const ReportDue = defineEvent<{ readonly time: string }>('ReportDue')

const outbox = Outbox.multiNode({
  store: sqliteStore({ open: () => new DatabaseSync(file) }),
  poller: { intervalMs: 200 },
})
outbox.on(ReportDue, ({ payload }) => console.log(`Report of ${payload.time}`))
await outbox.start()
console.log('The process is ready.')

const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())

while (!stop.signal.aborted) {
  // The last full hour. All processes name it alike, whenever they look at their clocks.
  const tick = Math.floor(Date.now() / everyMs) * everyMs
  const time = new Date(tick).toISOString()

  // The first process writes the event. The others find the key used, and write nothing.
  await outbox.transaction(() => outbox.write(ReportDue, { time }, { idempotencyKey: `report-${time}` }))

  await delay(tick + everyMs - Date.now(), undefined, stop).catch(() => {})
}
await outbox.close()
