import { runConsumerChecks } from '../run-consumer-checks.ts'
import { runOutageCheck } from '../run-outage-check.ts'
import { runRedeliveryCheck } from '../run-redelivery-check.ts'

const module = new URL('rabbitmq-client-broker.ts', import.meta.url)
await runConsumerChecks('the RabbitMQ consumer on rabbitmq-client', module, process.env['RABBITMQ_URL']!)
runOutageCheck('the RabbitMQ consumer on rabbitmq-client', module, process.env['RABBITMQ_URL']!)
runRedeliveryCheck('the RabbitMQ consumer on rabbitmq-client', module, process.env['RABBITMQ_URL']!)
