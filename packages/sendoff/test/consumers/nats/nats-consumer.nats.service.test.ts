import { after } from 'node:test'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { runConsumerChecks } from '../run-consumer-checks.ts'
import { runOutageCheck } from '../run-outage-check.ts'
import { runRedeliveryCheck } from '../run-redelivery-check.ts'

const url = process.env['NATS_URL']!
const module = new URL('nats-broker.ts', import.meta.url)
await runConsumerChecks('the NATS consumer', module, url)
runOutageCheck('the NATS consumer', module, url)

const connection = await connect({ servers: url })
const manager = await jetstreamManager(connection)
after(() => connection.close())
runRedeliveryCheck('the NATS consumer', module, url, async (stream) => {
  await manager.streams.update(stream, { max_age: 20 * 86_400 * 1_000_000_000 })
  return { manager }
})
