import { outboxAt } from '../tested-outbox.ts'
import { testCommands } from './command-behaviour.ts'

let made = 0

testCommands({
  name: 'Redis',
  newOutbox: async () => outboxAt(process.env['REDIS_URL']!, `cli-${process.pid}-${++made}`),
  hasKeys: false,
  hasSql: false,
})
