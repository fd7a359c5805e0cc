import { Refusal } from '../guard/refusal.ts'

/** Options of `LiveStreams`. */
export interface LiveStreamsOptions {
  /** Returns the state of an outbox to show. Called once for all streams of this outbox. */
  readonly read: (outbox: string) => Promise<unknown>
  /** Returns what to tell visitors about a read that failed. */
  readonly describe: (error: unknown) => { readonly code: string; readonly message: string }
  /** How long to wait between two reads, in milliseconds. */
  readonly intervalMs: number
  /** How many streams may be open. */
  readonly maxStreams: number
}

/** How many messages may wait for a client that does not read. */
const maxUnread = 3

/** How long after a read an action or a step of a plan makes the next one, in milliseconds. */
const soonMs = 250

/** How many messages in a row a client may miss before its stream ends. A page opens a new one by itself. */
const maxMissed = 20

/**
 * Streams of server-sent events, with the state of an outbox each time.
 *
 * All streams of an outbox share one read, so five pages cost the database no more than one. Nothing is read
 * while there is no stream. A message is the whole state, so a slow client may miss some. A client that does
 * not read at all costs a few messages of memory, and its stream ends.
 */
export class LiveStreams {
  readonly #options: LiveStreamsOptions
  readonly #channels = new Map<string, Channel>()
  #count = 0
  #isClosed = false

  constructor(options: LiveStreamsOptions) {
    this.#options = options
  }

  /** How many streams are open. */
  get count(): number {
    return this.#count
  }

  /** Opens a stream of one outbox. It ends when the client leaves. */
  open(outbox: string, left: AbortSignal): ReadableStream<Uint8Array> {
    if (this.#isClosed) throw new Refusal(503, 'CLOSED', 'This dashboard is closing. Try again in a moment.')
    if (this.#count >= this.#options.maxStreams) {
      throw new Refusal(503, 'TOO_MANY_STREAMS', 'Too many pages are open. Close some, then try again.')
    }
    this.#count++
    const channel = this.#channels.get(outbox) ?? this.#newChannel(outbox)
    let leave = (): void => {}
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          leave = channel.join(controller, () => this.#count--)
          left.addEventListener('abort', leave, { once: true })
          if (left.aborted) leave()
        },
        cancel: () => leave(),
      },
      new CountQueuingStrategy({ highWaterMark: maxUnread }),
    )
  }

  /** Sends the state of an outbox now, for example after an action. */
  refresh(outbox: string): void {
    this.#channels.get(outbox)?.refresh()
  }

  /** Ends all streams, and opens no more. */
  close(): void {
    this.#isClosed = true
    for (const channel of this.#channels.values()) channel.close()
  }

  #newChannel(outbox: string): Channel {
    const channel = new Channel({ ...this.#options, read: () => this.#options.read(outbox) }, () =>
      this.#channels.delete(outbox),
    )
    this.#channels.set(outbox, channel)
    return channel
  }
}

interface Member {
  readonly controller: ReadableStreamDefaultController<Uint8Array>
  readonly leave: () => void
  missed: number
}

/** The streams of one outbox. It reads from when the first one joins until the last one has left. */
class Channel {
  readonly #options: LiveStreamsOptions
  readonly #members = new Set<Member>()
  readonly #onEmpty: () => void
  #timer: NodeJS.Timeout | undefined
  #last: Uint8Array | undefined
  #isReading = false
  #isOutdated = false
  #readAt = -Infinity

  constructor(
    options: Omit<LiveStreamsOptions, 'read'> & { readonly read: () => Promise<unknown> },
    onEmpty: () => void,
  ) {
    this.#options = options
    this.#onEmpty = onEmpty
  }

  join(controller: Member['controller'], onLeave: () => void): () => void {
    const leave = (): void => {
      if (!this.#members.delete(member)) return
      onLeave()
      try {
        controller.close()
      } catch {
        // The client has gone already.
      }
      if (this.#members.size > 0) return
      clearTimeout(this.#timer)
      this.#onEmpty()
    }
    const member: Member = { controller, leave, missed: 0 }
    this.#members.add(member)
    // The browser waits this long before it connects again.
    controller.enqueue(encoded('retry: 3000\n\n'))
    if (this.#last !== undefined) controller.enqueue(this.#last)
    if (this.#members.size === 1) void this.#tick()
    return leave
  }

  refresh(): void {
    if (this.#isReading) {
      // What is being read may be older than the reason for this call.
      this.#isOutdated = true
      return
    }
    const waitMs = this.#readAt + Math.min(soonMs, this.#options.intervalMs) - performance.now()
    if (waitMs <= 0) void this.#tick()
    else this.#tickIn(waitMs)
  }

  close(): void {
    for (const member of [...this.#members]) member.leave()
  }

  async #tick(): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    this.#isOutdated = false
    this.#last = await this.#message()
    this.#isReading = false
    this.#readAt = performance.now()
    for (const member of [...this.#members]) send(member, this.#last)
    const { intervalMs } = this.#options
    if (this.#members.size > 0) this.#tickIn(this.#isOutdated ? Math.min(soonMs, intervalMs) : intervalMs)
  }

  #tickIn(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#tick(), ms).unref()
  }

  async #message(): Promise<Uint8Array> {
    try {
      return encoded(`event: state\ndata: ${JSON.stringify(await this.#options.read(''))}\n\n`)
    } catch (error) {
      return encoded(`event: trouble\ndata: ${JSON.stringify(this.#options.describe(error))}\n\n`)
    }
  }
}

function send(member: Member, message: Uint8Array): void {
  if ((member.controller.desiredSize ?? 0) > 0) {
    member.missed = 0
    member.controller.enqueue(message)
  } else if (++member.missed > maxMissed) {
    member.leave()
  }
}

function encoded(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}
