import { runConsumerChecks } from '../run-consumer-checks.ts'

const module = new URL('platformatic-broker.ts', import.meta.url)
await runConsumerChecks('the Kafka consumer on @platformatic/kafka', module, process.env['KAFKA_URL']!)
