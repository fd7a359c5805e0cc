import { connect } from 'amqplib'
import { describeBrokerService } from '../describe-broker-service.ts'
import { rabbitmq } from './rabbitmq.ts'

await describeBrokerService({
  service: rabbitmq,

  async write(url, name) {
    const connection = await connect(url)
    const channel = await connection.createChannel()
    await channel.assertQueue(name, { durable: true })
    await connection.close()
  },

  async has(url, name) {
    const connection = await connect(url)
    const channel = await connection.createChannel()
    channel.on('error', () => {})
    const found = await channel.checkQueue(name).then(
      () => true,
      () => false,
    )
    await connection.close()
    return found
  },
})
