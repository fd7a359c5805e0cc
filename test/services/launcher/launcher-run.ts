import { setTimeout } from 'node:timers/promises'
import { echoService } from './echo-service.ts'
import { withServices } from './launcher.ts'

// launcher.test.ts runs this in a process of its own. It ends as its argument says, with a service up.
const [end] = process.argv.slice(2)

await withServices([echoService], async ({ environment }) => {
  if (end === 'uncaught') queueMicrotask(() => setImmediate(fail))
  console.log(`up ${environment['ECHO_URL']}`)
  if (end === 'throw') fail()
  await setTimeout(60_000)
})

function fail(): never {
  throw new Error('on purpose')
}
