import { runConsumerChecks } from '../run-consumer-checks.ts'

const module = new URL('kafkajs-broker.ts', import.meta.url)
await runConsumerChecks('the Kafka consumer on kafkajs', module, process.env['KAFKA_URL']!)
