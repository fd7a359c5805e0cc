import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { AuditAnswer, EventAnswer } from '../../src/api/answers.ts'
import type { EventSummary } from '../../src/api/event-view.ts'
import { outboxPath, post } from '../api.ts'
import { time } from '../format.ts'
import { useLive, useLoaded } from '../live.ts'
import {
  Card,
  Destination,
  Empty,
  EventLink,
  FactList,
  Loading,
  PageHead,
  StatusBadge,
  Trouble,
  When,
} from '../parts/basics.tsx'
import { useDialogs } from '../parts/dialogs.tsx'
import { icons } from '../parts/icons.tsx'
import { layOut } from '../parts/json-text.ts'
import { JsonText, Payload } from '../parts/payload.tsx'
import { useSession } from '../parts/session.ts'
import { go, hrefOf, type Place } from '../router.ts'
import { MailPreview } from './mail.tsx'

/** Everything about one event. */
export function EventPage({ outbox, query }: Place): JSX.Element {
  const { beat } = useLive()
  const id = query.get('id') ?? ''
  const destination = query.get('destination') ?? ''
  const search = new URLSearchParams({ destination }).toString()
  const path = outboxPath(outbox, `events/${encodeURIComponent(id)}?${search}`)
  const { data, error, reload } = useLoaded<EventAnswer>(path, beat)
  if (data === undefined) {
    return (
      <>
        <PageHead title="Event" about={id}>
          {error !== undefined && (
            <a class="button" href={hrefOf(outbox, 'events', { eventId: id })}>
              Search for it
            </a>
          )}
        </PageHead>
        {error === undefined ? <Loading rows={10} /> : <Trouble error={error} retry={reload} />}
      </>
    )
  }
  const { event } = data
  return (
    <>
      <PageHead
        title={
          <>
            {data.mail?.subject || event.eventType} <StatusBadge event={event} />
          </>
        }
        about={<span class="mono">{event.eventId}</span>}
      >
        <EventActions
          key={`${event.eventId} ${event.destination}`}
          outbox={outbox}
          detail={data}
          reload={reload}
        />
      </PageHead>
      {event.lastError !== null && (
        <div class="error-box" role="note" aria-label="Last error">
          <span class="figure-label">Last error</span>
          <pre tabIndex={0}>{event.lastError}</pre>
        </div>
      )}
      {data.destinations.length > 1 && (
        <Destinations outbox={outbox} current={event} rows={data.destinations} />
      )}
      <div class="columns">
        <div>
          {data.mail !== null && <MailPreview outbox={outbox} event={event} mail={data.mail} />}
          <Card title="Payload" flush>
            <Payload payload={data.payload} contentType={event.contentType} />
          </Card>
          <Card title="Headers" flush>
            {data.headers === null ? <p class="muted pad">None</p> : <JsonText json={data.headers} />}
          </Card>
        </div>
        <div>
          <Card title="Facts">
            <Facts outbox={outbox} event={event} />
            {data.traceUrl !== null && (
              <p>
                <a class="button" href={data.traceUrl} target="_blank" rel="noreferrer">
                  <icons.outside /> Open its trace
                </a>
              </p>
            )}
          </Card>
          <Card title="Timeline">
            <Timeline detail={data} />
          </Card>
          <Card title={event.orderingKey === null ? 'Neighbours of its aggregate' : 'Neighbours of its key'}>
            <Neighbours outbox={outbox} detail={data} />
          </Card>
        </div>
      </div>
    </>
  )
}

function EventActions({
  outbox,
  detail,
  reload,
}: {
  outbox: string
  detail: EventAnswer
  reload: () => void
}): JSX.Element | null {
  const { canAct, isAdmin } = useSession()
  const { ask, attempt } = useDialogs()
  const [isEditing, setEditing] = useState(false)
  const { event, payload } = detail
  if (!canAct) return null

  const act = (action: 'replay' | 'cancel' | 'purge', done: string, reason?: string): Promise<void> =>
    attempt(async () => {
      const path = outboxPath(outbox, `events/${encodeURIComponent(event.eventId)}/${action}`)
      await post(path, { destination: event.destination, ...(reason && { reason }) })
      reload()
      return done
    })
  const cancel = async (): Promise<void> => {
    const reason = await ask({
      title: 'Cancel this event?',
      text: 'It becomes DEAD, and no listener gets it. It can be replayed later.',
      confirm: 'Cancel the event',
      isDanger: true,
      field: { label: 'Reason, for the record', value: 'Cancelled.' },
    })
    if (reason !== undefined) await act('cancel', 'The event is cancelled.', reason)
  }
  const purge = async (): Promise<void> => {
    const answer = await ask({
      title: 'Delete this event?',
      text: 'The event and its failed attempts are deleted for good.',
      confirm: 'Delete the event',
      isDanger: true,
    })
    if (answer === undefined) return
    await act('purge', 'The event is deleted.')
    go(hrefOf(outbox, 'events'))
  }
  const isPending = event.status === 'NEW' || event.status === 'RETRY'
  return (
    <>
      {event.status === 'DEAD' && (
        <button
          type="button"
          class="button primary"
          onClick={() => void act('replay', 'The event is replayed.')}
        >
          <icons.replay /> Replay
        </button>
      )}
      {isAdmin && event.status === 'DEAD' && payload.kind === 'json' && (
        <button type="button" class="button" onClick={() => setEditing(true)}>
          Edit and replay
        </button>
      )}
      {isPending && (
        <button type="button" class="button" onClick={() => void cancel()}>
          Cancel
        </button>
      )}
      {isAdmin && !isPending && (
        <button type="button" class="button danger" onClick={() => void purge()}>
          Delete
        </button>
      )}
      {isEditing && payload.kind === 'json' && (
        <EditDialog outbox={outbox} event={event} json={payload.text} close={() => setEditing(false)} />
      )}
    </>
  )
}

function EditDialog({
  outbox,
  event,
  json,
  close,
}: {
  outbox: string
  event: EventSummary
  json: string
  close: () => void
}): JSX.Element {
  const { attempt } = useDialogs()
  const [text, setText] = useState(() =>
    layOut(json)
      .map((piece) => piece.text)
      .join(''),
  )
  const fault = faultOf(text)
  const replay = (): Promise<void> =>
    attempt(async () => {
      const path = outboxPath(outbox, `events/${encodeURIComponent(event.eventId)}/edit`)
      const { eventId, isNew } = await post<{ eventId: string; isNew: boolean }>(path, {
        payload: text,
        destination: event.destination,
      })
      close()
      go(
        hrefOf(outbox, 'event', {
          id: eventId,
          ...(event.destination !== '' && { destination: event.destination }),
        }),
      )
      return isNew
        ? 'A new event was written in its place.'
        : 'It was replaced before: this is the event in its place.'
    })
  return (
    <dialog
      class="dialog wide"
      aria-labelledby="edit-title"
      ref={(element) => {
        if (element !== null && !element.open) element.showModal()
      }}
      onClose={close}
    >
      <h2 id="edit-title">Edit and replay</h2>
      <p class="muted">
        The dead event stays as it is. A new one with this payload takes its place, and names it in its
        headers.
      </p>
      <label class="field">
        <span>Payload</span>
        <textarea
          rows={16}
          spellcheck={false}
          class="mono"
          value={text}
          onInput={(change) => setText(change.currentTarget.value)}
        />
      </label>
      {fault !== undefined && (
        <p class="bad-text" role="alert">
          {fault}
        </p>
      )}
      <div class="dialog-actions">
        <button type="button" class="button" onClick={close}>
          Cancel
        </button>
        <button
          type="button"
          class="button primary"
          disabled={fault !== undefined}
          onClick={() => void replay()}
        >
          Write and deliver
        </button>
      </div>
    </dialog>
  )
}

function faultOf(json: string): string | undefined {
  try {
    JSON.parse(json)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

function Destinations({
  outbox,
  current,
  rows,
}: {
  outbox: string
  current: EventSummary
  rows: readonly EventSummary[]
}): JSX.Element {
  return (
    <Card title={`${rows.length} destinations of this event`}>
      <ul class="destination-strip" aria-label="Destinations">
        {rows.map((row) => (
          <li key={row.destination}>
            <a
              class="destination-box"
              aria-current={row.destination === current.destination ? 'page' : undefined}
              href={hrefOf(outbox, 'event', {
                id: row.eventId,
                ...(row.destination !== '' && { destination: row.destination }),
              })}
            >
              <span class="row-between">
                <span class="strong">
                  <Destination name={row.destination} />
                </span>
                <StatusBadge event={row} />
              </span>
              <span class="muted small">{fateOf(row)}</span>
              {row.lastError !== null && <span class="bad-text small clip">{row.lastError}</span>}
            </a>
          </li>
        ))}
      </ul>
    </Card>
  )
}

function fateOf(row: EventSummary): string {
  const failures =
    row.attempts === 0 ? '' : `, ${row.attempts} failed ${row.attempts === 1 ? 'attempt' : 'attempts'}`
  if (row.isBlocked) return `Waits for an operator since ${time(row.blockedAt)}${failures}`
  if (row.status === 'DONE') return `Delivered ${time(row.doneAt)}${failures}`
  if (row.status === 'DEAD') return `Dead since ${time(row.doneAt)}${failures}`
  return row.lockedBy === null ? `Due ${time(row.availableAt)}${failures}` : `A worker holds it${failures}`
}

function Facts({ outbox, event }: { outbox: string; event: EventSummary }): JSX.Element {
  const facts: readonly [string, JSX.Element | string | null][] = [
    ['Destination', event.destination === '' ? null : event.destination],
    [
      'Ordering key',
      event.orderingKey === null ? null : (
        <a href={hrefOf(outbox, 'events', { orderingKey: event.orderingKey })}>{event.orderingKey}</a>
      ),
    ],
    [
      'Aggregate',
      event.aggregateId === null ? (
        event.aggregateType || null
      ) : (
        <a
          href={hrefOf(outbox, 'events', {
            aggregateType: event.aggregateType,
            aggregateId: event.aggregateId,
          })}
        >
          {event.aggregateType} {event.aggregateId}
        </a>
      ),
    ],
    ['Tenant', event.tenantId],
    ['Occurred', time(event.occurredAt)],
    ['Written', time(event.createdAt)],
    ['Due', event.doneAt === null ? time(event.availableAt) : null],
    ['Ended', event.doneAt === null ? null : time(event.doneAt)],
    ['Failed attempts', String(event.attempts)],
    ['Lost by crashes', event.losses === 0 ? null : String(event.losses)],
    ['Held by', event.lockedBy === null ? null : `${event.lockedBy} until ${time(event.lockedUntil)}`],
    ['Partition', event.partitionNo === null ? null : String(event.partitionNo)],
    ['Place in the table', String(event.seq)],
  ]
  return <FactList facts={facts} />
}

interface Moment {
  readonly at: number
  readonly tone: string
  readonly title: string
  readonly text?: string | undefined
}

function Timeline({ detail: { event, attempts, audit } }: { detail: EventAnswer }): JSX.Element {
  const moments: Moment[] = [
    { at: event.createdAt, tone: 'info', title: 'Written' },
    ...attempts.map(({ failedAt, attempts: number, error, lockedBy }) => ({
      at: failedAt,
      tone: 'warn',
      title: `Attempt ${number} failed${lockedBy === null ? '' : ` on ${lockedBy}`}`,
      text: error,
    })),
    ...audit.map((entry) => ({
      at: entry.updatedAt ?? entry.at,
      tone: 'held',
      title: `${actionText(entry.action)} by ${entry.actor ?? 'unknown'}`,
      text: reasonOf(entry),
    })),
  ]
  if (event.status === 'DONE') moments.push({ at: event.doneAt!, tone: 'good', title: 'Delivered' })
  if (event.status === 'DEAD')
    moments.push({ at: event.doneAt!, tone: 'bad', title: 'Dead: no more attempts' })
  if (event.isBlocked)
    moments.push({ at: event.blockedAt!, tone: 'held', title: 'Blocked: waits for an operator' })
  moments.sort((a, b) => a.at - b.at)
  return (
    <ol class="timeline">
      {moments.map((moment, index) => (
        <li key={index} class={moment.tone}>
          <p>
            <span class="strong">{moment.title}</span>{' '}
            <span class="muted small nowrap">
              <When at={moment.at} />
            </span>
          </p>
          {moment.text !== undefined && <p class="muted small clip-3">{moment.text}</p>}
        </li>
      ))}
    </ol>
  )
}

const actionTexts: Readonly<Record<string, string>> = {
  replay: 'Replayed',
  cancel: 'Cancelled',
  skip: 'Skipped',
  purge: 'Deleted',
  replayEdited: 'Replayed with another payload',
  retryKey: 'Key retried',
  skipKey: 'Key skipped',
  park: 'Key parked',
  unpark: 'Key unparked',
  pause: 'Paused',
  resume: 'Resumed',
  copy: 'Copied',
  purgeAudit: 'Audit purged',
}

/** Returns the name of an action in words. */
export function actionText(action: string): string {
  return actionTexts[action] ?? action
}

function reasonOf({ detail }: AuditAnswer): string | undefined {
  try {
    const { reason } = JSON.parse(detail ?? '{}') as { reason?: unknown }
    return typeof reason === 'string' ? reason : undefined
  } catch {
    return undefined
  }
}

function Neighbours({
  outbox,
  detail: { event, neighbours },
}: {
  outbox: string
  detail: EventAnswer
}): JSX.Element {
  const rows = [...neighbours.before.toReversed(), event, ...neighbours.after]
  if (rows.length === 1) return <Empty title="No neighbours nearby" />
  return (
    <ol class="neighbours">
      {rows.map((row) => (
        <li key={row.eventId} aria-current={row === event ? 'true' : undefined}>
          <StatusBadge event={row} />
          <span class="grow clip">
            {row === event ? (
              <span class="strong">{row.eventType}</span>
            ) : (
              <EventLink outbox={outbox} event={row}>
                {row.eventType}
              </EventLink>
            )}
          </span>
          <span class="muted small nowrap">
            <When at={row.createdAt} />
          </span>
        </li>
      ))}
    </ol>
  )
}
