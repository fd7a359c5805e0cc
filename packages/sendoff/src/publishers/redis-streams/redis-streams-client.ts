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

export interface NodeRedisTrimOptions {
  TRIM?: { strategy?: 'MAXLEN' | 'MINID'; strategyModifier?: '=' | '~'; threshold: number }
}

export type RedisStreamsClient = IoredisClient | NodeRedisClient
