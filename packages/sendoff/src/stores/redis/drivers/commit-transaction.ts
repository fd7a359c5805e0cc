import { OutboxError } from '../../../errors.ts'
import { duplicateEventId } from '../../../store/duplicate-event-id.ts'
import { insertCommands, tellResults } from '../insert-rows.ts'
import type { RecordedInsert, RecordedTransaction } from './recorded-transaction.ts'
import type { RedisDriver } from './redis-driver.ts'
import type { RedisKeyspace } from '../redis-keyspace.ts'

/** The destination of a transaction. */
export interface TransactionPlace {
  readonly driver: RedisDriver
  readonly keyspace: RedisKeyspace
  /** The channel on which rows are announced. */
  readonly channel: string
}

/**
 * Sends the commands of a transaction: as one script if there are only events, and not too many; as a MULTI
 * otherwise.
 */
export async function commitTransaction(
  { driver, keyspace, channel }: TransactionPlace,
  { inserts, scripts, calls }: RecordedTransaction,
  multi: () => object,
): Promise<void> {
  const commands = insertCommands(inserts, channel)
  const others = scripts.length + calls.length
  if (commands.length === 0 && others === 0) return
  if (commands.length === 1 && others === 0) {
    const { script, values } = commands[0]!
    return takeAnswer(inserts, await driver.run(script, keyspace, values).catch(serversWord))
  }

  const sent = multi()
  // The inserts come first, so that their results are found by their place.
  for (const { script, values } of [...commands, ...scripts]) driver.queue(sent, script, keyspace, values)
  for (const { method, values } of calls) Reflect.apply(Reflect.get(sent, method) as () => void, sent, values)

  const answers = await driver.exec(sent).catch((error: unknown) => {
    throw isServersWord(error) ? error : commitUnknown(error)
  })
  if (answers.length === 0) throw watchedKeyChanged()
  if (commands.length > 0) {
    const own = answers.slice(0, commands.length)
    takeAnswer(inserts, own.find((answer) => answer instanceof Error) ?? own.at(-1))
  }
  const failed = answers.find((answer) => answer instanceof Error)
  if (failed !== undefined) throw commandFailed(failed)
}

function takeAnswer(inserts: readonly RecordedInsert[], answer: unknown): void {
  if (answer instanceof Error) throw insertFailure(inserts, answer)
  tellResults(inserts, answer as readonly unknown[])
}

function insertFailure(inserts: readonly RecordedInsert[], error: Error): Error {
  const place = /DUPLICATEEVENTID (\d+)/.exec(error.message)?.[1]
  const row = place === undefined ? undefined : inserts.flatMap(({ rows }) => rows)[Number(place) - 1]
  return row === undefined ? error : duplicateEventId(row, { cause: error })
}

// An error from the server proves that the script has added nothing.
function serversWord(error: unknown): unknown {
  if (isServersWord(error)) return error
  throw commitUnknown(error)
}

/**
 * Whether the error comes from the server itself. The server has then done nothing of the transaction. Such
 * errors begin with a word in capitals.
 */
export function isServersWord(error: unknown): boolean {
  return error instanceof Error && /^[A-Z]{3,} /.test(error.message)
}

/** Whether the server refused a command because the user may only read, or because it is a replica. */
export function isReadOnly(error: unknown): boolean {
  return (
    error instanceof Error &&
    /NOPERM|READONLY|ACL failure|user executing the script can't/.test(error.message)
  )
}

function commitUnknown(cause: unknown): OutboxError {
  return new OutboxError(
    'OUTBOX_COMMIT_UNKNOWN',
    'The connection to Redis was lost before the transaction was confirmed. Redis may or may not have carried it out: ' +
      'look for its data before you repeat it, or write with an idempotency key.',
    { cause },
  )
}

function watchedKeyChanged(): OutboxError {
  return new OutboxError(
    'OUTBOX_ROLLED_BACK',
    'Redis carried out no part of the transaction, because a key that this connection watches has changed. ' +
      'Watch keys on a connection of your own, and hand its MULTI over: write(event, payload, { tx: multi }).',
  )
}

function commandFailed(cause: Error): OutboxError {
  return new OutboxError(
    'OUTBOX_COMMAND_FAILED',
    `A command of the transaction failed: ${cause.message}. Redis undoes nothing: the other commands were carried out, ` +
      'and the events of the transaction are delivered.',
    { cause },
  )
}
