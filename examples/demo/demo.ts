import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { serveDashboard } from '@sendoff/dashboard'
import { createTables } from './databases.ts'
import { DemoProcess } from './demo-process.ts'
import { type Account, Pipeline } from './pipeline.ts'
import { terminalPicture } from './terminal-picture.ts'

const introduction = `
An order service stores orders, each with an event in the same transaction.
A worker, another process, delivers the events to a shipping company, which
books one shipment for each. Half-way the worker is killed (SIGKILL) and started
again while orders keep coming in. Now and then a payment is declined and its
transaction rolled back. The worker takes a few orders too, by phone.
In the end every committed order has its shipment, and no other order has one.
`
const timeLimitMs = 60_000

// `npm run demo -- --serve` shows the demo in the dashboard, and goes on until it is interrupted.
const isServing = process.argv.includes('--serve')

// Aborts when something ends the demo early.
const early = new AbortController()
const { signal } = early
const interrupted = new Error('Interrupted.')
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => early.abort(interrupted))
process.stdout.on('error', () => early.abort(interrupted))
const tooLate = new Error(`The demo was not over after ${timeLimitMs / 1_000} seconds.`)
if (!isServing) setTimeout(() => early.abort(tooLate), timeLimitMs).unref()

console.log(introduction)
const folder = mkdtempSync(join(tmpdir(), 'sendoff-demo-'))
createTables(folder)
const pipeline = await Pipeline.open(folder)
const picture = terminalPicture(process.stdout)
const processes: DemoProcess[] = []
const served = isServing ? await serveDashboard({ admins: { shop: pipeline.admin } }) : undefined
let rolledBack = 0
let isOver = false
const drawing = drawUntilOver()

try {
  await tellStory()
} catch (error) {
  early.abort(error)
} finally {
  await Promise.all(processes.map((each) => each.kill()))
  isOver = true
  await drawing
  picture.end()
  process.exitCode = signal.reason === interrupted ? 130 : conclude(pipeline.account())
  await served?.close()
  await pipeline.close()
  rmSync(folder, { recursive: true, force: true })
}

async function tellStory(): Promise<void> {
  const orderService = start('order-service', 'order-service.ts')
  const worker1 = start('worker-1', 'shipping-worker.ts')
  await until(() => orderService.state === 'up' && worker1.state === 'up')
  picture.moment('order-service takes orders, worker-1 delivers their events')
  if (served !== undefined) picture.moment(`dashboard: ${served.url} (Ctrl+C ends the demo)`)
  await pause(4_000)

  // In the middle of its work, not between two events.
  await until(async () => (await pipeline.heldBy('worker-1')) >= 5)
  const killedAt = performance.now()
  await worker1.kill()
  const stranded = await pipeline.heldBy('worker-1')
  picture.moment(`worker-1 was killed while it held ${stranded} events`)
  await pause(1_000)

  const worker2 = start('worker-2', 'shipping-worker.ts')
  await until(() => worker2.state === 'up')
  picture.moment('worker-2 is up and delivers the waiting events')
  await until(async () => (await pipeline.heldBy('worker-1')) === 0)
  const seconds = ((performance.now() - killedAt) / 1_000).toFixed(1)
  picture.moment(`worker-2 took over those ${stranded}, ${seconds} s after the kill: the leases ran out`)
  await pause(3_500)
  // Until the demo is interrupted: this pause ends early, and never by itself.
  if (isServing) await pause(2 ** 31 - 1)

  await orderService.stop(signal)
  picture.moment('order-service stopped')
  await until(async () => (await pipeline.look()).waiting === 0)
  await worker2.stop(signal)
  picture.moment('worker-2 delivered the events it still held, and stopped')
}

/** Prints the result, and returns the exit code. */
function conclude({ written, delivered, lost, unfounded, redelivered }: Account): number {
  const web = pipeline.deliveryTimes('web')
  const phone = pipeline.deliveryTimes('phone')

  console.log(`
Time from an order to its shipment (median, outage included):
  ${web.medianMs} ms for ${web.count} orders of the order service, which the worker finds by polling
  ${phone.medianMs} ms for ${phone.count} orders by phone, which it delivers straight after its own commit
Delivered again: ${redelivered}. A worker killed between booking a shipment and saying so
leaves its event to be delivered once more ("at least once"); shipping knows it
by its id and books nothing twice.`)
  if (signal.aborted) console.log(String(signal.reason))
  if (unfounded > 0) console.log(`${unfounded} shipments were booked for orders that were rolled back!`)
  console.log(`written=${written} delivered=${delivered} lost=${lost}`)
  return !signal.aborted && lost === 0 && unfounded === 0 && delivered === written ? 0 : 1
}

function start(name: string, script: string): DemoProcess {
  const started = new DemoProcess({
    name,
    script,
    folder,
    onMessage: (message) => {
      if (message === 'rolledBack') rolledBack++
    },
    onComplaint: (line) => picture.moment(`${name}: ${line}`),
    onCrash: (error) => early.abort(error),
  })
  processes.push(started)
  return started
}

async function drawUntilOver(): Promise<void> {
  try {
    for (let last = false; !last; await sleep(100)) {
      last = isOver
      picture.show({ figures: await pipeline.look(), rolledBack, processes })
    }
  } catch (error) {
    early.abort(error)
  }
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await pause(10)
}

function pause(ms: number): Promise<void> {
  return sleep(ms, undefined, { signal })
}
