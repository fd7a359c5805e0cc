import { connect } from 'amqplib'
import type { StoredMessage } from '../../../src/testing/publisher-check.ts'

/** Makes a durable queue that is called so. */
export async function makeQueue(url: string, name: string): Promise<string> {
  const connection = await connect(url)
  const channel = await connection.createChannel()
  await channel.assertQueue(name, { durable: true })
  await connection.close()
  return name
}

/** All that is in a queue, in its order. It stays there. */
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
  // What was not acknowledged goes back to where it was.
  await connection.close()
  return messages
}
