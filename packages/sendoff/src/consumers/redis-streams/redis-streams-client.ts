/** The part of a client of `ioredis` that is used here. */
export interface IoredisConsumerClient {
  callBuffer(command: string, ...args: (string | number)[]): Promise<unknown>
  duplicate(): IoredisConsumerClient
  on(event: 'error', listener: (error: Error) => void): unknown
  disconnect(): void
}

/** The part of a client of `redis` that is used here. */
export interface NodeRedisConsumerClient {
  withTypeMapping(mapping: { readonly 36: typeof Buffer }): {
    sendCommand(args: readonly string[]): Promise<unknown>
  }
  duplicate(): NodeRedisConsumerClient
  connect(): Promise<unknown>
  on(event: 'error', listener: (error: Error) => void): unknown
  destroy(): void
}

/** A client of `ioredis` or of `redis`. */
export type RedisStreamsConsumerClient = IoredisConsumerClient | NodeRedisConsumerClient

/** Sends commands over a connection of its own. Texts come as buffers. */
export interface RedisConnection {
  send(command: string, ...args: string[]): Promise<unknown>
  close(): void
}

/** The type of texts in replies of `redis`: `$`. */
const blobString = 36

/** Opens a connection like that of the client. A command that waits would hold up others on the same one. */
export async function openConnection(client: RedisStreamsConsumerClient): Promise<RedisConnection> {
  if ('callBuffer' in client) {
    const own = client.duplicate()
    own.on('error', () => {})
    return {
      send: (command, ...args) => own.callBuffer(command, ...args),
      close: () => own.disconnect(),
    }
  }
  const own = client.duplicate()
  own.on('error', () => {})
  await own.connect()
  const buffers = own.withTypeMapping({ [blobString]: Buffer })
  return { send: (...args) => buffers.sendCommand(args), close: () => own.destroy() }
}
