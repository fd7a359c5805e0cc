import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { EventSummary } from '../../src/api/event-view.ts'
import { ago, destinationName, time } from '../format.ts'
import { hrefOf } from '../router.ts'
import { icons } from './icons.tsx'

export type Tone = 'good' | 'info' | 'warn' | 'bad' | 'held' | 'quiet'

/** A word in a coloured frame. The word says it all; the colour only helps. */
export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }): JSX.Element {
  return <span class={`badge ${tone}`}>{children}</span>
}

const tones: Readonly<Record<EventSummary['status'], Tone>> = {
  NEW: 'info',
  RETRY: 'warn',
  DONE: 'good',
  DEAD: 'bad',
}

/** The state of an event. */
export function StatusBadge({ event }: { event: Pick<EventSummary, 'status' | 'isBlocked'> }): JSX.Element {
  return event.isBlocked ? (
    <Badge tone="held">BLOCKED</Badge>
  ) : (
    <Badge tone={tones[event.status]}>{event.status}</Badge>
  )
}

/** A time as its distance from now, with the full time as a hint. */
export function When({ at }: { at: number | null | undefined }): JSX.Element {
  const [, render] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && render((count) => count + 1), 5_000)
    return () => clearInterval(timer)
  }, [])
  if (at === null || at === undefined) return <span class="muted">–</span>
  return (
    <time dateTime={new Date(at).toISOString()} title={time(at)}>
      {ago(at)}
    </time>
  )
}

/** A box with a title. */
export function Card({
  title,
  aside,
  children,
  flush,
}: {
  title?: ComponentChildren
  aside?: ComponentChildren
  children: ComponentChildren
  flush?: boolean
}): JSX.Element {
  return (
    <section class={`card ${flush ? 'flush' : ''}`}>
      {title !== undefined && (
        <header class="card-head">
          <h2>{title}</h2>
          {aside !== undefined && <div class="aside">{aside}</div>}
        </header>
      )}
      {children}
    </section>
  )
}

/** The head of a page. */
export function PageHead({
  title,
  about,
  children,
}: {
  title: ComponentChildren
  about?: ComponentChildren
  children?: ComponentChildren
}): JSX.Element {
  return (
    <header class="page-head">
      <div>
        <h1>{title}</h1>
        {about !== undefined && <p class="muted">{about}</p>}
      </div>
      {children !== undefined && <div class="actions">{children}</div>}
    </header>
  )
}

/** Names with their values. A value that is null is left out. */
export function FactList({
  facts,
}: {
  facts: readonly (readonly [name: string, value: JSX.Element | string | null])[]
}): JSX.Element {
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}

/** What a page shows if there is nothing to show. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <icons.empty />
      <p class="strong">{title}</p>
      {children !== undefined && <p class="muted">{children}</p>}
    </div>
  )
}

/** What a page shows if it could not be read. */
export function Trouble({
  title = 'This could not be read',
  error,
  retry,
}: {
  title?: string
  error: Error
  retry?: () => void
}): JSX.Element {
  return (
    <div class="trouble" role="alert">
      <icons.failures />
      <div>
        <p class="strong">{title}</p>
        <p>{error.message}</p>
      </div>
      {retry !== undefined && (
        <button type="button" class="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** Grey bars in place of what is being read. */
export function Loading({ rows = 6 }: { rows?: number }): JSX.Element {
  return (
    <div class="loading" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, index) => (
        <span key={index} />
      ))}
    </div>
  )
}

/** A link to one event. */
export function EventLink({
  outbox,
  event,
  children,
}: {
  outbox: string
  event: Pick<EventSummary, 'eventId' | 'destination'>
  children?: ComponentChildren
}): JSX.Element {
  const query = { id: event.eventId, ...(event.destination !== '' && { destination: event.destination }) }
  return (
    <a href={hrefOf(outbox, 'event', query)} class="mono">
      {children ?? event.eventId}
    </a>
  )
}

export function Destination({ name }: { name: string }): JSX.Element {
  return name === '' ? <span class="muted">{destinationName(name)}</span> : <span>{name}</span>
}

/** A number with a name below it. */
export function Figure({
  label,
  value,
  note,
  tone,
  href,
}: {
  label: string
  value: string
  note?: ComponentChildren
  tone?: Tone | undefined
  href?: string
}): JSX.Element {
  const content = (
    <>
      <span class="figure-label">{label}</span>
      <span class={`figure-value ${tone ?? ''} ${value.length > 8 ? 'long' : ''}`}>{value}</span>
      <span class="figure-note">{note ?? '\u00a0'}</span>
    </>
  )
  return href === undefined ? (
    <div class="figure">{content}</div>
  ) : (
    <a class="figure" href={href}>
      {content}
    </a>
  )
}
