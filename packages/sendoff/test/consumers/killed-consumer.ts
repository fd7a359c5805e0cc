import type { BrokerModule } from './consumed-broker.ts'
import { Effects } from './effects.ts'

// A consumer as a process of its own: `node killed-consumer.ts MODULE URL DESTINATION FILE`. It dies on the
// spot after its first commit, before it acknowledges anything.
const [path, url, destination, file] = process.argv.slice(2) as [string, string, string, string]
const module = (await import(path)) as BrokerModule
const effects = await Effects.open(file)
const broker = await module.openBroker(url)
const { inbox } = effects
const consumer = await broker.consumer(destination, {
  inbox: {
    consumer: inbox.consumer,
    accept: (message) => inbox.accept(message),
    async process(...args) {
      await inbox.process(...args)
      process.kill(process.pid, 'SIGKILL')
      return await new Promise<never>(() => {})
    },
  },
  handler: effects.handler,
  concurrency: 1,
})
await consumer.start()
