import { Redis } from 'ioredis'
import type { StoredMessage } from '../../../src/testing/publisher-check.ts'

/** Returns all messages of a stream, in its order. */
export async function storedInStream(url: string, stream: string): Promise<readonly StoredMessage[]> {
  const client = new Redis(url)
  try {
    const entries = await client.xrangeBuffer(stream, '-', '+')
    return entries.map(([, values]) => {
      const fields: Record<string, Buffer> = {}
      for (let index = 0; index < values.length; index += 2)
        fields[String(values[index])] = values[index + 1]!
      const { payload, ...rest } = fields
      const headers = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, String(value)]))
      return { body: payload!, contentType: headers['content-type'], headers }
    })
  } finally {
    client.disconnect()
  }
}
