/** The part of a consumer of `@platformatic/kafka` that is used here. It has no deserializers. */
export interface PlatformaticConsumer {
  readonly assignments: readonly PlatformaticAssignment[] | null
  consume(options: PlatformaticConsumeOptions): Promise<PlatformaticStream>
  commit(options: { offsets: PlatformaticOffset[] }): Promise<void>
  leaveGroup(force?: boolean): Promise<void>
  on(event: 'consumer:group:join', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: string, listener: (...args: never[]) => void): unknown
}

/** The partitions of a topic that a consumer has. */
export interface PlatformaticAssignment {
  readonly topic: string
  readonly partitions: readonly number[]
}

/** Options of `consume` of `@platformatic/kafka`. */
export interface PlatformaticConsumeOptions {
  /** The topics to consume. */
  topics: string[]
  /** Whether the client commits by itself. */
  autocommit: false
  /** Begins where the group has committed. */
  mode: 'committed'
  /** Where to begin if the group has committed nothing. */
  fallbackMode: 'earliest' | 'latest'
}

/** An offset to commit, in the form that `@platformatic/kafka` takes. */
export interface PlatformaticOffset {
  topic: string
  partition: number
  offset: bigint
  leaderEpoch: number
}

/** The part of a stream of `@platformatic/kafka` that is used here. */
export interface PlatformaticStream {
  on(event: 'data', listener: (message: PlatformaticMessage) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'close' | 'fetch', listener: () => void): unknown
  pause(): unknown
  resume(): unknown
  close(): Promise<void>
}

/** A message as `@platformatic/kafka` delivers it. */
export interface PlatformaticMessage {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  readonly leaderEpoch: number
  readonly key?: Buffer | undefined
  readonly value?: Buffer | undefined
  readonly headers: ReadonlyMap<Buffer, Buffer>
}

/** The part of a consumer of `kafkajs` that is used here. */
export interface KafkajsConsumer {
  connect(): Promise<void>
  subscribe(subscription: { topics: string[]; fromBeginning?: boolean }): Promise<void>
  run(config: KafkajsRunConfig): Promise<void>
  stop(): Promise<void>
  seek(place: { topic: string; partition: number; offset: string }): void
  pause(topics: { topic: string; partitions?: number[] }[]): void
  resume(topics: { topic: string; partitions?: number[] }[]): void
  commitOffsets(offsets: { topic: string; partition: number; offset: string }[]): Promise<void>
  on(event: 'consumer.group_join', listener: (event: KafkajsGroupJoin) => void): () => void
  on(event: 'consumer.crash', listener: (event: KafkajsCrash) => void): () => void
}

/** Options of `run` of `kafkajs`. */
export interface KafkajsRunConfig {
  autoCommit?: boolean
  eachBatchAutoResolve?: boolean
  partitionsConsumedConcurrently?: number
  eachBatch?: (payload: KafkajsBatchPayload) => Promise<void>
}

/** A batch as `kafkajs` delivers it. */
export interface KafkajsBatchPayload {
  readonly batch: {
    readonly topic: string
    readonly partition: number
    readonly messages: readonly KafkajsReceivedMessage[]
    lastOffset(): string
  }
  resolveOffset(offset: string): void
  isStale(): boolean
}

/** A message as `kafkajs` delivers it. */
export interface KafkajsReceivedMessage {
  readonly offset: string
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers?: Readonly<Record<string, Buffer | string | (Buffer | string)[] | undefined>>
}

/** The report of `kafkajs` that it has joined the group. */
export interface KafkajsGroupJoin {
  readonly payload: { readonly memberAssignment: Readonly<Record<string, readonly number[]>> }
}

/** The report of `kafkajs` that it has stopped because of an error. */
export interface KafkajsCrash {
  readonly payload: { readonly error: Error; readonly restart: boolean }
}

/** A consumer of one of the two clients. */
export type KafkaClientConsumer = PlatformaticConsumer | KafkajsConsumer

/** The part of an `Admin` of `@platformatic/kafka` that is used here. */
export interface PlatformaticAdmin {
  describeConfigs(request: {
    resources: { resourceType: 2; resourceName: string; configurationKeys: string[] }[]
  }): Promise<
    readonly {
      readonly resourceName: string
      readonly configs: readonly { readonly name: string; readonly value?: string | null | undefined }[]
    }[]
  >
}

/** The part of an admin of `kafkajs` that is used here. It has to be connected. */
export interface KafkajsAdmin {
  fetchTopicMetadata(request?: { topics: string[] }): Promise<unknown>
  describeConfigs(request: {
    resources: { type: 2; name: string; configNames: string[] }[]
    includeSynonyms: boolean
  }): Promise<{
    readonly resources: readonly {
      readonly resourceName: string
      readonly configEntries: readonly { readonly configName: string; readonly configValue: string | null }[]
    }[]
  }>
}

/** An admin of one of the two clients. */
export type KafkaAdmin = PlatformaticAdmin | KafkajsAdmin
