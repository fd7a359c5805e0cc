import { type IncomingMessage, plainHeaders } from '../incoming-message.ts'

/** An entry of a stream. */
export interface StreamEntry {
  readonly id: string
  /** Names and values in turn; null if the entry was deleted meanwhile. */
  readonly fields: readonly Buffer[] | null
}

/**
 * Reads the entries of one stream from the reply of XREADGROUP. It has the name of the stream and its list:
 * as a pair in a list, as a list, or as a map, by the protocol and the client.
 */
export function entriesRead(reply: unknown): readonly StreamEntry[] {
  if (reply === null || reply === undefined) return []
  if (!Array.isArray(reply)) return entriesOf(valuesOf(reply)[0])
  const [first, second] = reply as unknown[]
  return entriesOf(Array.isArray(first) ? (first as unknown[])[1] : second)
}

/** Reads the entries from the reply of XAUTOCLAIM. The first part says where the next call begins. */
export function entriesClaimed(reply: unknown): {
  readonly next: string
  readonly entries: readonly StreamEntry[]
} {
  const [next, list] = reply as [unknown, unknown]
  return { next: String(next), entries: entriesOf(list) }
}

/** Makes the message of an entry: the body is the field `payload`, and other fields are headers. */
export function messageOfEntry(stream: string, { id, fields }: StreamEntry): IncomingMessage {
  const pairs: [string, Buffer][] = []
  for (let index = 0; index + 1 < (fields?.length ?? 0); index += 2) {
    pairs.push([String(fields![index]), fields![index + 1]!])
  }
  const headers = plainHeaders(pairs.filter(([name]) => name !== 'payload'))
  return {
    source: stream,
    place: id,
    headers,
    contentType: headers['content-type'],
    body: pairs.find(([name]) => name === 'payload')?.[1] ?? Buffer.alloc(0),
    key: null,
  }
}

/** Reads entries from a list of them, such as the reply of XRANGE. */
export function entriesOf(list: unknown): StreamEntry[] {
  return ((list ?? []) as ([unknown, Buffer[] | null] | null)[]).flatMap((entry) =>
    entry === null ? [] : [{ id: String(entry[0]), fields: entry[1] }],
  )
}

function valuesOf(reply: object): unknown[] {
  return reply instanceof Map ? [...reply.values()] : Object.values(reply)
}
