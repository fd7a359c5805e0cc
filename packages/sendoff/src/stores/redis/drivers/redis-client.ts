/** A client of `ioredis`, or its `Cluster`, as far as the store uses it. Transactions get its MULTI. */
export interface IoredisClient {
  evalsha(sha: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>
  multi(): object
  config(subcommand: 'GET', ...names: string[]): Promise<unknown>
  duplicate(): object
}

/** A MULTI of `ioredis`. `exec` sends the commands that were called on it. */
export interface IoredisMulti {
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): unknown
  exec(): Promise<[error: Error | null, result: unknown][] | null>
}

export interface IoredisSubscriber {
  subscribe(channel: string): Promise<unknown>
  on(event: 'message' | 'ready' | 'error', listener: (...values: unknown[]) => void): unknown
  ping(): Promise<unknown>
  disconnect(): void
}

/** A client or cluster of `redis` (node-redis), as far as the store uses it. Transactions get its MULTI. */
export interface NodeRedisClient {
  evalSha(sha: string, options: NodeRedisScriptOptions): Promise<unknown>
  eval(script: string, options: NodeRedisScriptOptions): Promise<unknown>
  multi(): object
  duplicate(): object
}

/** The keys and arguments of a script call in the `redis` client. */
export interface NodeRedisScriptOptions {
  /** The keys that the script uses. */
  readonly keys: string[]
  /** The values that the script receives. */
  readonly arguments: string[]
}

/** A MULTI of `redis`. `exec` sends the commands that were called on it. */
export interface NodeRedisMulti {
  eval(script: string, options: NodeRedisScriptOptions): unknown
  exec(): Promise<unknown>
}

/** A client of the store's own, made like the one that was handed in. */
export interface NodeRedisDuplicate extends NodeRedisClient {
  connect(): Promise<unknown>
  on(event: 'ready' | 'error', listener: (...values: unknown[]) => void): unknown
  destroy(): unknown
}

export interface NodeRedisSubscriber extends NodeRedisDuplicate {
  subscribe(channel: string, listener: (text: string) => void): Promise<unknown>
  ping?(): Promise<unknown>
}

/** A client or a cluster of `ioredis` or of `redis`. */
export type RedisClient = IoredisClient | NodeRedisClient

/** The handle that transactions of this client get: its MULTI, or one that the caller has begun. */
export type RedisTx<Client extends RedisClient> = ReturnType<Client['multi']> & object
