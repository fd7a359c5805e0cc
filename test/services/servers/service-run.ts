import { setTimeout } from 'node:timers/promises'
import { withServices } from '../launcher/launcher.ts'
import { services } from '../services.ts'
import { temporaryFolder } from '../machine/temporary-folder.ts'

// Tests run this in a process of its own, and then end it. It starts a service: by the launcher as the test
// runner does, or alone as a test with a private server does.
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
