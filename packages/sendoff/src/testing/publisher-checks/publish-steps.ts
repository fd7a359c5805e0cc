import { deepEqual, equal, ok } from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { OutboxError } from '../../errors.ts'
import { type EnvelopeOptions, EventEnvelope } from '../../event/event-envelope.ts'
import type { Logger } from '../../observe/logger.ts'
import type { PublishAnswer, Publisher } from '../../publisher.ts'
import type { PublisherCheckContext, StoredMessage } from '../publisher-check.ts'

/** Returns a sample event with its number in the payload. */
export function sampleEvent(number: number, fields: Partial<EnvelopeOptions> = {}): EventEnvelope {
  const payload = fields.payloadBytes === undefined ? { payloadJson: JSON.stringify({ number }) } : {}
  return EventEnvelope.of({ eventType: 'Checked', aggregateType: 'Check', ...payload, ...fields })
}

/** Returns sample events, numbered from 0 on. */
export function sampleEvents(count: number, fields: Partial<EnvelopeOptions> = {}): readonly EventEnvelope[] {
  return Array.from({ length: count }, (_, number) => sampleEvent(number, fields))
}

/** Publishes a batch that is never aborted. */
export function publish(
  publisher: Publisher,
  events: readonly EventEnvelope[],
  signal: AbortSignal = new AbortController().signal,
): Promise<readonly PublishAnswer[]> {
  return publisher.onEvents(events, { signal })
}

/** Publishes a batch and requires that every event is acknowledged. */
export async function publishAll(publisher: Publisher, events: readonly EventEnvelope[]): Promise<void> {
  deepEqual(kindsOf(await publish(publisher, events)), Array<string>(events.length).fill('done'))
}

/** Returns for each answer `done`, `retryAfter`, or the code of the error. */
export function kindsOf(answers: readonly PublishAnswer[]): readonly string[] {
  return answers.map((answer) =>
    answer instanceof OutboxError ? answer.code : answer instanceof Error ? answer.message : answer.kind,
  )
}

/** Returns the longest delay of the deferred events, in ms. */
export function longestDelayMs(answers: readonly PublishAnswer[]): number {
  return Math.max(0, ...answers.map((answer) => ('delayMs' in answer ? answer.delayMs : 0)))
}

/**
 * Publishes until every event is acknowledged, in batches as an engine would. Deferred events come again
 * after their delay. Requires that nothing else goes wrong with them.
 */
export async function publishUntilDone(
  publisher: Publisher,
  events: readonly EventEnvelope[],
  onBatch: (answers: readonly PublishAnswer[]) => Promise<void> | void = () => {},
): Promise<void> {
  const batchSize = 20
  let waiting = events
  while (waiting.length > 0) {
    const batch = waiting.slice(0, batchSize)
    const answers = await publish(publisher, batch)
    await onBatch(answers)
    for (const answer of answers) if (answer instanceof Error) throw answer

    const putOff = batch.filter((_, index) => (answers[index] as { kind: string }).kind === 'retryAfter')
    if (putOff.length > 0) await delay(longestDelayMs(answers))
    waiting = [...putOff, ...waiting.slice(batchSize)]
  }
}

/** Returns the ids of stored messages, each once. */
export async function storedIds(
  context: PublisherCheckContext,
  destination: string,
): Promise<readonly string[]> {
  return [...new Set((await context.stored(destination)).map(idOf))]
}

/** Returns the ids of events. */
export function idsOf(events: readonly EventEnvelope[]): readonly string[] {
  return events.map(({ eventId }) => eventId)
}

/** Returns the event id of a stored message. Throws if it has none. */
export function idOf({ headers }: StoredMessage): string {
  const id = headers['event-id']
  ok(id, `a message has no event-id among its headers: ${Object.keys(headers).join(', ')}`)
  return id
}

/** Requires that every event is stored at least once, and nothing else. */
export async function requireStored(
  context: PublisherCheckContext,
  destination: string,
  events: readonly EventEnvelope[],
): Promise<void> {
  deepEqual([...(await storedIds(context, destination))].sort(), [...idsOf(events)].sort())
}

/** A logger that keeps its lines. */
export class KeptLog implements Logger {
  readonly lines: string[] = []
  debug(): void {}
  info(message: string): void {
    this.lines.push(`info ${message}`)
  }
  warn(message: string): void {
    this.lines.push(`warn ${message}`)
  }
  error(message: string): void {
    this.lines.push(`error ${message}`)
  }

  /** Requires one line that the broker is away, and `backs` lines that it is back. */
  requireOutage(backs: 0 | 1): void {
    const levels = this.lines.map((line) => line.split(' ', 1)[0])
    deepEqual(levels, backs === 1 ? ['warn', 'warn'] : ['warn'], this.lines.join('\n'))
    equal(/cannot be reached/.test(this.lines[0]!), true, this.lines[0])
  }
}
