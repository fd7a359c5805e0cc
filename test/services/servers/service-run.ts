import { setTimeout } from 'node:timers/promises'
import { withServices } from '../launcher/launcher.ts'
import { services } from '../services.ts'
import { temporaryFolder } from '../machine/temporary-folder.ts'

// Run by tests in a process of its own, which they then end: has a service up, by the launcher as the
// test runner does, or alone as a test does that has a server for itself.
const [name, how] = process.argv.slice(2)
const service = services.find((service) => service.name === name)!

if (how === 'launched') {
  await withServices([service], async ({ environment, missing }) => {
    if (missing.length > 0) throw new Error(missing[0]!.reason)
    await stayUp(environment[service.urlVariable]!)
  })
} else {
  const { url } = await service.start(temporaryFolder('alone').path)
  await stayUp(url)
}

async function stayUp(url: string): Promise<void> {
  console.log(`up ${url}`)
  await setTimeout(600_000)
}
