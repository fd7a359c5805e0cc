import { OutboxError } from '../../errors.ts'
import { type IncomingMessage, plainHeaders } from '../incoming-message.ts'
import type { Reader } from '../message-consumer.ts'
import type { MessageRuns, RunResult } from '../message-runs.ts'
import { ReadLoop } from '../read-loop.ts'
import type { NatsConsumer, NatsMessage, NatsMessages } from './nats-client.ts'

/** How long a request waits for messages, in milliseconds. */
const requestMs = 2_000
/** The server's own default. */
const usualAckWaitMs = 30_000

/**
 * Reads from a pull consumer of JetStream. A message that fails is returned with a delay, so that the server
 * delivers it again later, to any consumer.
 */
export class NatsReader implements Reader {
  readonly #consumer: NatsConsumer
  readonly #runs: MessageRuns
  readonly #loop: ReadLoop
  readonly #running = new Set<NatsMessage>()
  #request: NatsMessages | undefined
  #stopProgress = (): void => {}

  constructor(consumer: NatsConsumer, runs: MessageRuns, prefetch: number) {
    this.#consumer = consumer
    this.#runs = runs
    this.#loop = new ReadLoop(runs, prefetch, (room) => this.#read(room))
  }

  async start(): Promise<void> {
    const { config } = await this.#consumer.info()
    if (config.ack_policy !== undefined && config.ack_policy !== 'explicit')
      throw notExplicit(config.ack_policy)
    const ackWaitMs = config.ack_wait === undefined ? usualAckWaitMs : config.ack_wait / 1_000_000
    this.#reportProgress(Math.max(50, ackWaitMs / 3))
    this.#loop.start()
  }

  async stop(): Promise<void> {
    this.#request?.stop()
    await this.#loop.ended()
  }

  async finish(): Promise<void> {
    this.#stopProgress()
    await this.#loop.answered()
  }

  async #read(room: number): Promise<void> {
    const request = await this.#consumer.fetch({ max_messages: room, expires: requestMs })
    this.#request = request
    if (this.#runs.closing.aborted) request.stop()
    for await (const message of request) {
      this.#loop.take(
        () => this.#run(message),
        (result) => answerTo(message, result),
      )
    }
    this.#request = undefined
  }

  async #run(message: NatsMessage): Promise<RunResult> {
    this.#running.add(message)
    try {
      return await this.#runs.run(incomingFrom(message))
    } finally {
      this.#running.delete(message)
    }
  }

  /** Tells the server of messages that still run, so that it does not deliver them again. */
  #reportProgress(everyMs: number): void {
    this.#stopProgress = this.#runs.clock.schedule(everyMs, () => {
      this.#reportProgress(everyMs)
      try {
        for (const message of this.#running) message.working()
      } catch {
        // The connection is closed. The server delivers the messages again, and the inbox knows them.
      }
    })
  }
}

function answerTo(message: NatsMessage, result: RunResult): unknown {
  // Waits until the server has it, so that a closed consumer has nothing on its way.
  if (result === 'done') return message.ackAck()
  // Servers before 2.10 ignore this with a reason.
  if (result === 'dropped') return message.term()
  return message.nak(result === 'left' ? 0 : result.retryAfterMs)
}

function incomingFrom({ subject, seq, headers, data }: NatsMessage): IncomingMessage {
  const plain = plainHeaders((headers?.keys() ?? []).map((name) => [name, headers!.last(name)] as const))
  return {
    source: subject,
    place: String(seq),
    headers: plain,
    contentType: plain['content-type'],
    body: Buffer.from(data.buffer, data.byteOffset, data.byteLength),
    key: null,
    brokerId: plain['nats-msg-id'],
  }
}

function notExplicit(policy: string): OutboxError {
  return new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `The consumer of JetStream has ack_policy "${policy}". Only with "explicit" is a message acknowledged after its own effects.`,
  )
}
