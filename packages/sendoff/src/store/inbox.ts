/** Which messages each consumer has processed. */
export interface OutboxInbox<Tx> {
  /**
   * Marks a message as processed by a consumer, within the caller's transaction: the mark exists if and only
   * if the transaction commits. Returns `duplicate` if the message has a mark already, also one of the same
   * transaction. The marks of different consumers are independent.
   *
   * If another transaction has marked the message and is still open, waits for its end. With `wait: false`,
   * returns `busy` instead; the caller then has to undo its transaction, or the part that it called this in.
   * A store that runs one writing transaction at a time waits before that, and never returns `busy`.
   */
  mark(request: MarkRequest<Tx>): Promise<MarkAnswer>

  /** Whether a message has a mark, as the caller's transaction sees it. Rejects if that has failed. */
  isMarked(mark: InboxMark<Tx>): Promise<boolean>

  /**
   * Deletes one batch of the oldest marks of a consumer. Examines at most `limit` and locks nothing for long.
   * Returns where the next batch begins, until nothing is left.
   */
  purge(request: MarkPurgeRequest): Promise<MarkPurgeResult>
}

/** The mark of a message, and a transaction that can see it. */
export interface InboxMark<Tx> {
  readonly tx: Tx
  /** At most `maxConsumerLength` characters, without white space around it. */
  readonly consumer: string
  /** At most `maxMessageIdLength` characters, without NUL. Compared byte by byte. */
  readonly messageId: string
}

/** A message to mark. */
export interface MarkRequest<Tx> extends InboxMark<Tx> {
  /** Whether to wait for another transaction that has marked the message. */
  readonly wait: boolean
}

/** Whether the message was marked, had a mark already, or has one of a transaction that is still open. */
export type MarkAnswer = 'marked' | 'duplicate' | 'busy'

/** Which marks to delete. */
export interface MarkPurgeRequest {
  readonly consumer: string
  /** Deletes marks that were made more than this many milliseconds ago. */
  readonly olderThanMs: number
  readonly limit: number
  /** The cursor that the last batch returned. */
  readonly cursor?: MarkPurgeCursor | undefined
}

/** The result of one batch. */
export interface MarkPurgeResult {
  readonly deleted: number
  /** Where the next batch begins; undefined if no old mark is left. */
  readonly cursor: MarkPurgeCursor | undefined
}

/** A place in a purge of marks. Only the store that made it can read it. */
export type MarkPurgeCursor = string

/** The longest name of a consumer, in UTF-16 units. */
export const maxConsumerLength = 128

/** The longest id of a message, in UTF-16 units. */
export const maxMessageIdLength = 255
