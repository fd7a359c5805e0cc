/** A client of `ioredis`, or a cluster of it, as used here. */
export interface IoredisClient {
  call(command: string, args: (string | Buffer)[]): Promise<unknown>
}

/** A client of `redis`, or a cluster of it, as used here. */
export interface NodeRedisClient {
  xAdd(
    key: string,
    id: string,
    message: Record<string, string | Buffer>,
    options?: NodeRedisTrimOptions,
  ): Promise<unknown>
}

export interface NodeRedisTrimOptions {
  TRIM?: { strategy?: 'MAXLEN' | 'MINID'; strategyModifier?: '=' | '~'; threshold: number }
}

export type RedisStreamsClient = IoredisClient | NodeRedisClient
