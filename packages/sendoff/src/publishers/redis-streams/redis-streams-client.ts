/** The part of a client of `ioredis`, or of its cluster, that is used here. */
export interface IoredisClient {
  call(command: string, args: (string | Buffer)[]): Promise<unknown>
}

/** The part of a client of `redis`, or of its cluster, that is used here. */
export interface NodeRedisClient {
  xAdd(
    key: string,
    id: string,
    message: Record<string, string | Buffer>,
    options?: NodeRedisTrimOptions,
  ): Promise<unknown>
}

/** Trims a stream, in the form that `redis` takes. */
export interface NodeRedisTrimOptions {
  /** Drops old messages of the stream beyond a threshold. */
  TRIM?: { strategy?: 'MAXLEN' | 'MINID'; strategyModifier?: '=' | '~'; threshold: number }
}

/** A client of `ioredis` or of `redis`. */
export type RedisStreamsClient = IoredisClient | NodeRedisClient
