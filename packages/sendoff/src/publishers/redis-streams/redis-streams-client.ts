/** A client of `ioredis`, or a cluster of it, as used here. */
export interface IoredisClient {
  call(command: string, args: (string | Buffer)[]): Promise<unknown>
}

/** A client of `redis`, as used here. */
export interface NodeRedisClient {
  sendCommand(args: readonly (string | Buffer)[]): Promise<unknown>
}

/** A cluster of `redis`: it has to be told which node a command is for. */
export interface NodeRedisCluster {
  sendCommand(
    firstKey: string | Buffer | undefined,
    isReadonly: boolean | undefined,
    args: readonly (string | Buffer)[],
  ): Promise<unknown>
}

export type RedisStreamsClient = IoredisClient | NodeRedisClient | NodeRedisCluster
