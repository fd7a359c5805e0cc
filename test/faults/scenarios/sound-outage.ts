import { equal, ok } from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { HttpDestination } from '../../services/servers/http-destination.ts'
import { temporaryFolder } from '../../services/machine/temporary-folder.ts'
import { faultStore } from '../stores/fault-stores.ts'
import type { RelayMessage, RelayOrder, RelayReport, RelaySettings } from '../processes/relay-process.ts'
import { scale } from '../run/scale.ts'
import type { Diagnosed } from './sound-run.ts'

export type OutageKind = 'refuses' | 'hangs'

const outageMs = scale({ small: 1_200, full: 30_000 })

const pace = { eventsPerSecond: 200, retryMs: 300, coolDownMs: 600, intervalMs: 200, listenerTimeoutMs: 50 }

/** After so many failures in a row the poller rests. */
const failuresInARow = 100

/**
 * Runs a relay whose destination goes away for a while and comes back. Meanwhile it refuses connections or
 * never replies. Counts the tries, and what arrives in the end.
 */
export async function soundOutage(test: Diagnosed, store: string, kind: OutageKind): Promise<void> {
  const folder = temporaryFolder('outage')
  const faulted = await faultStore(store)
  const site = await faulted.site(folder.path, { workers: [], writers: [] })
  const destination = await HttpDestination.start()
  const relay = await Relay.start({ ...pace, store, location: site.location, url: destination.url })
  try {
    await destination.untilArrived(50)
    equal(relay.states.length, 0, 'the breaker is closed while everything is well')
    const before = await relay.report()

    const beganAt = performance.now()
    if (kind === 'refuses') await destination.goAway()
    else destination.fallSilent()
    await relay.untilState('open')
    await delay(outageMs)
    const during = await relay.report()
    const lastedMs = performance.now() - beganAt

    await destination.comeBack()
    await relay.untilState('closed')
    const after = await relay.finish()
    test.diagnostic(
      `${store}, ${kind}, ${Math.round(lastedMs)} ms: ${JSON.stringify({ before, during, after })}, ${relay.states.join(' ')}`,
    )

    const written = before.written + during.written + after.written
    equal(after.done, written, 'everything is settled')
    equal(after.dead, 0)
    equal(destination.arrivals.size, written, 'everything has arrived')
    judgeTries(during, lastedMs)
  } finally {
    await relay.end()
    await destination.goAway()
    await site.close()
    folder.remove()
  }
}

/**
 * Requires that no event is tried more often than its pauses allow. All tries together are limited by the
 * rests of the poller and the trials of the breaker. The poller polls only on time, or when something is due.
 */
function judgeTries({ sends, mostSends, ticks, leftToPoller }: RelayReport, lastedMs: number): void {
  const coolDowns = 1 + Math.ceil(lastedMs / pace.coolDownMs)
  const allTries = coolDowns * (failuresInARow + 1) + 1
  ok(sends <= allTries, `there were ${sends} sends instead of ${allTries} at most`)
  const mostTries = 1 + Math.ceil(lastedMs / pace.retryMs)
  ok(mostSends <= mostTries, `one event was sent ${mostSends} times instead of ${mostTries} at most`)
  const mostTicks = sends + lastedMs / pace.intervalMs + 2
  ok(ticks <= mostTicks, `the poller polled ${ticks} times, and sent ${sends} times`)
  ok(leftToPoller > 0, 'the breaker left no event to the poller')
}

/** The process that writes and sends. */
class Relay {
  readonly states: string[] = []
  readonly #child: ChildProcess
  readonly #waiting = new Set<() => void>()

  static async start(settings: RelaySettings): Promise<Relay> {
    const script = join(import.meta.dirname, '../processes/relay-process.ts')
    const relay = new Relay(fork(script, [JSON.stringify(settings)]))
    await relay.#answer('ready')
    return relay
  }

  private constructor(child: ChildProcess) {
    this.#child = child
    child.on('message', (message: RelayMessage) => {
      if (message.kind === 'state') this.states.push(message.state)
      this.#waiting.forEach((look) => look())
    })
  }

  async untilState(state: string): Promise<void> {
    while (this.states.at(-1) !== state) {
      await new Promise<void>((resolve) => this.#waiting.add(resolve))
    }
  }

  report(): Promise<RelayReport> {
    return this.#ask('report', 'report')
  }

  /** Resolves when all of its events are settled. */
  finish() {
    return this.#ask('finish', 'finished')
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    if (this.#child.connected) this.#child.disconnect()
    await exited
  }

  #ask<Kind extends RelayMessage['kind']>(order: RelayOrder, kind: Kind) {
    const answer = this.#answer(kind)
    this.#child.send(order)
    return answer
  }

  #answer<Kind extends RelayMessage['kind']>(kind: Kind) {
    return new Promise<Extract<RelayMessage, { kind: Kind }>>((resolve, reject) => {
      const onExit = (code: number | null) => reject(new Error(`The relay ended with code ${code}.`))
      const onMessage = (message: RelayMessage) => {
        if (message.kind !== kind) return
        this.#child.off('message', onMessage)
        this.#child.off('exit', onExit)
        resolve(message as Extract<RelayMessage, { kind: Kind }>)
      }
      this.#child.on('message', onMessage)
      this.#child.on('exit', onExit)
    })
  }
}
