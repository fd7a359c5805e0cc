import type { Publisher } from 'sendoff/parts'
import type { Service } from '../../test/services/service.ts'

/** A broker that events are relayed to. */
export interface RelayBroker {
  readonly name: string
  readonly service: Service
  /** Creates a topic, queue or stream of this name, and a client for it. */
  readonly open: (name: string) => Promise<OpenBroker>
}

export interface OpenBroker {
  readonly publisher: Publisher
  /** Sends many messages in the client's own way. Resolves when all are acknowledged. */
  readonly sendAll: (messages: readonly BareMessage[]) => Promise<unknown>
  /** Removes what `open` has created. */
  remove(): Promise<void>
}

export interface BareMessage {
  readonly id: string
  readonly key: string
  readonly type: string
  readonly occurredAt: Date
  readonly contentType: string
  /** The headers that a publisher gives the event by default. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}
