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

/** Options of `xAdd` in the `redis` client. */
export interface NodeRedisTrimOptions {
  /** Drops old messages of the stream beyond a threshold. */
  TRIM?: { strategy?: 'MAXLEN' | 'MINID'; strategyModifier?: '=' | '~'; threshold: number }
}

/** A client of `ioredis` or of `redis`. */
export type RedisStreamsClient = IoredisClient | NodeRedisClient
