import { Connection } from 'rabbitmq-client'
import { runRabbitmqChecks } from './run-rabbitmq-checks.ts'

runRabbitmqChecks('the RabbitMQ publisher on rabbitmq-client', (url) => {
  const connection = new Connection({ url, retryLow: 100, retryHigh: 500 })
  connection.on('error', () => {})
  return { connection, close: () => connection.close() }
})
