import { connect } from 'amqplib'
import type { StoredMessage } from '../../../src/testing/publisher-check.ts'

/** Creates a durable queue of this name. */
export async function makeQueue(url: string, name: string): Promise<string> {
  const connection = await connect(url)
  const channel = await connection.createChannel()
  await channel.assertQueue(name, { durable: true })
  await connection.close()
  return name
}

/** Returns all messages of a queue, in its order. They stay there. */
export async function queuedMessages(url: string, name: string): Promise<readonly StoredMessage[]> {
  const connection = await connect(url)
  const channel = await connection.createChannel()
  const messages: StoredMessage[] = []
  for (;;) {
    const message = await channel.get(name, { noAck: false })
    if (message === false) break
    const { contentType, headers } = message.properties
    messages.push({ body: message.content, contentType, headers: headers as Record<string, string> })
  }
  // Closing puts unacknowledged messages back in their place.
  await connection.close()
  return messages
}
