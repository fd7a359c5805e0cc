import type { Reader } from '../message-consumer.ts'
import type { MessageRuns } from '../message-runs.ts'
import { ReadLoop } from '../read-loop.ts'
import type { Redelivery } from '../redelivery.ts'
import {
  openConnection,
  type RedisConnection,
  type RedisStreamsConsumerClient,
} from './redis-streams-client.ts'
import { entriesClaimed, entriesOf, entriesRead, messageOfEntry, type StreamEntry } from './stream-entries.ts'

/** What a reader of Redis Streams needs. */
export interface RedisStreamsReaderOptions {
  readonly stream: string
  readonly group: string
  /** The name of this member of the group. */
  readonly member: string
  readonly from: 'earliest' | 'latest'
  readonly prefetch: number
  readonly claimAfterMs: number
}

/** How long a read waits for new entries, in milliseconds. */
const blockMs = 2_000

/**
 * Reads a stream as a member of a group. An entry that fails stays with this member, which tries it again.
 * Entries of members that are gone are claimed by others after `claimAfterMs`.
 */
export class RedisStreamsReader implements Reader {
  readonly #client: RedisStreamsConsumerClient
  readonly #runs: MessageRuns
  readonly #options: RedisStreamsReaderOptions
  readonly #loop: ReadLoop
  readonly #held = new Set<string>()
  #reading: RedisConnection | undefined
  #answering: RedisConnection | undefined
  #claimAt = 0
  #stopKeeping = (): void => {}

  constructor(client: RedisStreamsConsumerClient, runs: MessageRuns, options: RedisStreamsReaderOptions) {
    this.#client = client
    this.#runs = runs
    this.#options = options
    this.#loop = new ReadLoop(runs, options.prefetch, (room) => this.#read(room))
  }

  async start(): Promise<void> {
    this.#reading = await openConnection(this.#client)
    this.#answering = await openConnection(this.#client)
    await this.#makeGroup()
    this.#keep(this.#options.claimAfterMs / 3)
    this.#loop.start()
  }

  async stop(): Promise<void> {
    // Ends a read that waits.
    this.#reading?.close()
    await this.#loop.ended()
  }

  async finish(): Promise<void> {
    this.#stopKeeping()
    try {
      await this.#loop.answered()
      await this.#leave()
    } finally {
      this.#answering?.close()
    }
  }

  /**
   * Returns how old the oldest entry is. A stream keeps entries by their number, and a group that is created
   * again begins with the oldest one.
   */
  async oldest(): Promise<readonly Redelivery[]> {
    const { stream } = this.#options
    const [entry] = entriesOf(await this.#answering!.send('XRANGE', stream, '-', '+', 'COUNT', '1'))
    const writtenAt = Number(entry?.id.split('-')[0])
    if (Number.isNaN(writtenAt)) return []
    return [{ source: `stream "${stream}"`, redeliveryMs: this.#runs.clock.now() - writtenAt }]
  }

  async #makeGroup(): Promise<void> {
    const { stream, group, from } = this.#options
    try {
      await this.#answering!.send(
        'XGROUP',
        'CREATE',
        stream,
        group,
        from === 'earliest' ? '0' : '$',
        'MKSTREAM',
      )
    } catch (error) {
      if (!isReply(error, 'BUSYGROUP')) throw error
    }
  }

  async #read(room: number): Promise<void> {
    const { stream, group, member, claimAfterMs } = this.#options
    const { clock } = this.#runs
    if (clock.monotonic() >= this.#claimAt) {
      await this.#claim(room)
      this.#claimAt = clock.monotonic() + claimAfterMs / 2
      return
    }
    const waitMs = Math.max(1, Math.ceil(Math.min(blockMs, claimAfterMs / 2)))
    const source = [
      'GROUP',
      group,
      member,
      'COUNT',
      String(room),
      'BLOCK',
      String(waitMs),
      'STREAMS',
      stream,
      '>',
    ]
    try {
      const reply = await this.#reading!.send('XREADGROUP', ...source)
      for (const entry of entriesRead(reply)) this.#take(entry)
    } catch (error) {
      // The server has lost its data, or the stream was deleted.
      if (isReply(error, 'NOGROUP')) await this.#makeGroup()
      if (!this.#runs.closing.aborted) throw error
    }
  }

  /** Takes over entries of members that have not answered for long. */
  async #claim(room: number): Promise<void> {
    const { stream, group, member, claimAfterMs } = this.#options
    let left = room
    for (let start = '0-0'; left > 0;) {
      const idle = String(Math.ceil(claimAfterMs))
      const reply = await this.#answering!.send(
        'XAUTOCLAIM',
        ...[stream, group, member, idle, start, 'COUNT', String(left)],
      )
      const { next, entries } = entriesClaimed(reply)
      for (const entry of entries) {
        if (this.#held.has(entry.id)) continue
        left -= 1
        this.#take(entry)
      }
      if (next === '0-0') break
      start = next
    }
  }

  #take(entry: StreamEntry): void {
    const { stream, group } = this.#options
    this.#loop.take(
      () => this.#run(entry),
      async (isDone) => {
        this.#held.delete(entry.id)
        if (isDone) await this.#answering!.send('XACK', stream, group, entry.id)
      },
    )
  }

  async #run(entry: StreamEntry): Promise<boolean> {
    this.#held.add(entry.id)
    if (entry.fields === null) return true
    const message = messageOfEntry(this.#options.stream, entry)
    return await this.#runs.runUntilDone(message, this.#runs.closing)
  }

  /** Shows others that this member still has its entries. */
  #keep(everyMs: number): void {
    this.#stopKeeping = this.#runs.clock.schedule(everyMs, () => {
      const ids = [...this.#held]
      const { stream, group, member } = this.#options
      if (ids.length > 0) {
        void this.#answering!.send('XCLAIM', stream, group, member, '0', ...ids, 'JUSTID').catch(() => {})
      }
      this.#keep(everyMs)
    })
  }

  /** Removes this member from the group, unless it leaves entries behind: those would be lost with it. */
  async #leave(): Promise<void> {
    const { stream, group, member } = this.#options
    const pending = await this.#answering!.send('XPENDING', stream, group, '-', '+', '1', member)
    if (Array.isArray(pending) && pending.length === 0) {
      await this.#answering!.send('XGROUP', 'DELCONSUMER', stream, group, member)
    }
  }
}

function isReply(error: unknown, code: string): boolean {
  return error instanceof Error && error.message.startsWith(code)
}
