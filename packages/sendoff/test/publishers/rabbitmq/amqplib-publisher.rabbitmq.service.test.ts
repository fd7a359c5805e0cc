import { connect } from 'amqplib'
import { runRabbitmqChecks } from './run-rabbitmq-checks.ts'

runRabbitmqChecks('the RabbitMQ publisher on amqplib', (url) => ({
  connection: () => connect(url),
  close: () => Promise.resolve(),
}))
