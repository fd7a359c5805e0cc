// A consumer in a process of its own. Arguments: kind and place of the database, and whether it waits for other
// consumers. It gets messages as ids, and answers with what became of each. It hangs between the handler and
// the commit of a message `hang`.
import { once } from 'node:events'
import { Inbox, type ProcessOutcome } from '../../src/inbox/index.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { type DatabaseKind, openDatabase } from './effects-database.ts'

const [kind, place, waiting] = process.argv.slice(2)
const database = openDatabase(kind as DatabaseKind, place!)
const outbox = await Outbox.writerOnly({ store: database.store, migrate: false, logger: false }).start()
const inbox = new Inbox({ outbox, consumer: 'billing' })
const wait = waiting === 'wait'

process.on('message', (id: string) => void answer(id))
process.send?.('ready')
await once(process, 'disconnect')
await outbox.close()
await database.close()

async function answer(id: string): Promise<void> {
  const outcomes: ProcessOutcome[] = []
  const handler = async (tx: unknown) => {
    await database.addEffect(tx, id)
    if (id !== 'hang') return
    process.send?.('handled')
    await new Promise(() => {})
  }
  do outcomes.push(await inbox.process(id, handler, { wait }))
  while (outcomes.at(-1) === 'busy')
  process.send?.(outcomes)
}
