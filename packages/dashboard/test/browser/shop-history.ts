import type { CompleteStore } from 'sendoff/store'

/** Adds two living workers, and an hour in which the mail server went away half-way. */
export async function addHistory(store: CompleteStore<never>): Promise<void> {
  const now = (await store.looks.bound()).at
  const minute = now - (now % 60_000)
  const destination = (name: string, circuitBreaker: 'open' | null) => ({
    destination: name,
    hasListener: true,
    circuitBreaker,
    queues: { hot: 0, cold: name === 'mail' ? 12 : 1 },
  })
  for (const number of [1, 2]) {
    const id = `shop-${number}`
    await store.nodes.join({ id, mode: 'multiNode', ttlMs: 3_600_000 })
    const report = {
      version: '0.1.0',
      host: `shop-${number}.internal`,
      pid: 4_100 + number,
      startedAt: now,
      types: null,
      queues: { hot: 2, cold: 9 },
      held: { leased: 7, locked: 0 },
      partitions: 0,
      hotShare: 0.87,
      listenerBuckets: '24:100',
      destinations: [destination('kafka', null), destination('mail', 'open'), destination('partners', null)],
      routingVersion: 3,
    }
    const statistics = Array.from({ length: 60 }, (_, index) => minuteOf(minute, index, number)).flat()
    await store.reports.report({ id, report, statistics })
  }
}

/** What one process delivered in one minute. The numbers only have to look alive, and be the same each time. */
function minuteOf(last: number, index: number, number: number) {
  const wave = Math.round(320 + 120 * Math.sin(index / 6 + number) + ((index * 37 + number * 11) % 50))
  const isMailDown = index >= 42
  const of = (name: string, done: number, failed: number, dead: number, delivery: number) => ({
    minute: last - (59 - index) * 60_000,
    eventType: 'OrderPlaced',
    destination: name,
    done,
    failed,
    dead,
    deferred: 0,
    hot: Math.round(done * (0.84 + ((index * 7) % 10) / 100)),
    listenerMs: done * 3,
    listenerBuckets: `${20 + (index % 3)}:${done} ${28 + (index % 4)}:${Math.ceil(done / 60)}`,
    deliveryBuckets: `${delivery + (index % 3)}:${done + 1} ${delivery + 12 + (index % 4)}:${Math.ceil(done / 40)}`,
  })
  return [
    of('kafka', wave, 0, 0, 22),
    of(
      'mail',
      isMailDown ? 0 : Math.round(wave * 0.6),
      isMailDown ? 60 + (index % 20) : 0,
      isMailDown ? 14 : 0,
      isMailDown ? 40 : 26,
    ),
    of('partners', Math.round(wave * 0.3), index % 9 === 0 ? 3 : 0, 0, 28),
  ]
}
