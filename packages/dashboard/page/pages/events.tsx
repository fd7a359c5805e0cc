import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { EventsAnswer } from '../../src/api/answers.ts'
import type { EventSummary } from '../../src/api/event-view.ts'
import { outboxPath } from '../api.ts'
import { shortId, time, timeIn } from '../format.ts'
import { useLive, useLoaded } from '../live.ts'
import {
  Card,
  Destination,
  Empty,
  EventLink,
  Loading,
  PageHead,
  StatusBadge,
  Trouble,
  When,
} from '../parts/basics.tsx'
import { icons } from '../parts/icons.tsx'
import { useSession } from '../parts/session.ts'
import { go, hrefOf, type Place } from '../router.ts'

const states = ['', 'PENDING', 'NEW', 'RETRY', 'BLOCKED', 'DEAD', 'DONE']

/** The parts of a filter, with their names on the page. */
export const filterFields: Readonly<Record<string, string>> = {
  eventId: 'Event id',
  eventType: 'Type',
  destination: 'Destination',
  orderingKey: 'Ordering key',
  aggregateType: 'Aggregate type',
  aggregateId: 'Aggregate id',
  tenantId: 'Tenant',
  errorClass: 'Error class',
  text: 'Text in payload or error',
  since: 'Written since',
  until: 'Written before',
}

/** Searching, filtering and paging. The address holds all of it, so that it can be shared. */
export function EventsPage({ outbox, query }: Place): JSX.Element {
  const { beat } = useLive()
  const { canAct, isAdmin } = useSession()
  const isFirst = !query.has('cursor')
  const path = outboxPath(outbox, `events?${query.toString()}`)
  const { data, error, isLoading, reload } = useLoaded<EventsAnswer>(path, isFirst ? beat : 0)
  const set = (changes: Readonly<Record<string, string | undefined>>): void => {
    const next = { ...Object.fromEntries(query), ...changes, cursor: changes['cursor'] }
    const known = Object.entries(next).filter(
      ([name, value]) => value !== undefined && (value !== '' || name === 'destination'),
    )
    go(hrefOf(outbox, 'events', Object.fromEntries(known)))
  }
  const filter = Object.fromEntries([...query].filter(([name]) => name in filterFields || name === 'status'))

  return (
    <>
      <PageHead title="Events" about="Every event of the table, newest first.">
        <button type="button" class="button" onClick={reload}>
          <icons.replay /> Refresh
        </button>
        {canAct && Object.keys(filter).length > 0 && (isAdmin || filter['status'] !== 'DONE') && (
          <a class="button" href={hrefOf(outbox, 'replay', filter)}>
            Act on all that match
          </a>
        )}
      </PageHead>
      <Filters query={query} set={set} />
      {error !== undefined && <Trouble error={error} retry={reload} />}
      <Card flush>
        {data === undefined ? (
          error === undefined && <Loading rows={10} />
        ) : data.events.length === 0 && !data.isCut ? (
          <Empty title="No event matches">Check the filter, or take parts of it away.</Empty>
        ) : (
          <EventTable outbox={outbox} events={data.events} isLoading={isLoading} />
        )}
        {data !== undefined && (
          <Pager data={data} isFirst={isFirst} onFirst={() => set({})} onNext={(cursor) => set({ cursor })} />
        )}
      </Card>
    </>
  )
}

function Filters({
  query,
  set,
}: {
  query: URLSearchParams
  set: (changes: Readonly<Record<string, string | undefined>>) => void
}): JSX.Element {
  const { canSearchText } = useSession()
  const names = Object.keys(filterFields).filter((name) => name !== 'text' || canSearchText)
  const [field, setField] = useState('eventType')
  const [value, setValue] = useState('')
  const status = query.get('status') ?? ''
  const active = names.filter((name) => query.has(name))
  const isTime = field === 'since' || field === 'until'
  // The types of Preact know an input of one kind only.
  const kind: 'search' = isTime ? ('datetime-local' as never) : 'search'
  return (
    <div class="filters">
      <div class="tabs" role="group" aria-label="State">
        {states.map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={each === status}
            onClick={() => set({ status: each === '' ? undefined : each })}
          >
            {each === '' ? 'All' : each.charAt(0) + each.slice(1).toLowerCase()}
          </button>
        ))}
      </div>
      <form
        class="filter-form"
        role="search"
        onSubmit={(event) => {
          event.preventDefault()
          const at = isTime ? Date.parse(value) : 0
          if (value.trim() === '' || Number.isNaN(at)) return
          set({ [field]: isTime ? String(at) : value.trim() })
          setValue('')
        }}
      >
        <select
          aria-label="Search in"
          value={field}
          onChange={(event) => setField(event.currentTarget.value)}
        >
          {names.map((name) => (
            <option key={name} value={name}>
              {filterFields[name]}
            </option>
          ))}
        </select>
        <input
          id="search"
          type={kind}
          aria-label={`Search by ${filterFields[field]}`}
          placeholder={`${filterFields[field]}…`}
          value={value}
          onInput={(event) => setValue(event.currentTarget.value)}
        />
        <button type="submit" class="button">
          Search
        </button>
        <select
          aria-label="Order"
          value={query.get('order') ?? 'newest'}
          onChange={(event) => set({ order: event.currentTarget.value === 'oldest' ? 'oldest' : undefined })}
        >
          <option value="newest">Newest first</option>
          <option value="oldest">Oldest first</option>
        </select>
      </form>
      {active.length > 0 && (
        <ul class="chips" aria-label="Filter">
          {active.map((name) => (
            <li key={name} class="chip">
              <span class="muted">{filterFields[name]}</span> {shown(name, query.get(name)!)}
              <button
                type="button"
                aria-label={`Remove ${filterFields[name]}`}
                onClick={() => {
                  const rest = new URLSearchParams(query)
                  rest.delete(name)
                  rest.delete('cursor')
                  go(`${location.pathname}?${rest.toString()}`)
                }}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

function shown(name: string, value: string): string {
  if (name === 'since' || name === 'until') return time(timeIn(value))
  return value === '' ? 'default' : value
}

/** A table of events. `j` and `k` move, Enter opens. */
export function EventTable({
  outbox,
  events,
  isLoading,
}: {
  outbox: string
  events: readonly EventSummary[]
  isLoading?: boolean
}): JSX.Element {
  const body = useRef<HTMLTableSectionElement>(null)
  useEffect(() => {
    const move = (event: KeyboardEvent): void => {
      const step = { j: 1, k: -1 }[event.key]
      if (step === undefined || event.metaKey || event.ctrlKey || isTyping(event.target)) return
      const links = [...(body.current?.querySelectorAll<HTMLAnchorElement>('a.row-link') ?? [])]
      const at = links.indexOf(document.activeElement as HTMLAnchorElement)
      links[Math.max(0, Math.min(links.length - 1, at + step))]?.focus()
      event.preventDefault()
    }
    addEventListener('keydown', move)
    return () => removeEventListener('keydown', move)
  }, [])
  return (
    <div class={`table-box ${isLoading ? 'is-loading' : ''}`} tabIndex={0} role="region" aria-label="Events">
      <table class="events">
        <thead>
          <tr>
            <th>State</th>
            <th>Type</th>
            <th>Event</th>
            <th>Key or aggregate</th>
            <th>Destination</th>
            <th class="number">Attempts</th>
            <th>Written</th>
            <th>Last error</th>
          </tr>
        </thead>
        <tbody ref={body}>
          {events.map((event) => (
            <tr key={`${event.eventId} ${event.destination}`}>
              <td class="c-state">
                <StatusBadge event={event} />
              </td>
              <td class="c-type">
                <a
                  class="row-link strong"
                  href={hrefOf(outbox, 'event', {
                    id: event.eventId,
                    ...(event.destination !== '' && { destination: event.destination }),
                  })}
                >
                  {event.eventType}
                </a>
              </td>
              <td class="c-id">
                <EventLink outbox={outbox} event={event}>
                  <span title={event.eventId}>{shortId(event.eventId)}</span>
                </EventLink>
              </td>
              <td class="c-key">{event.orderingKey ?? event.aggregateId ?? <span class="muted">–</span>}</td>
              <td class="c-to">
                <Destination name={event.destination} />
              </td>
              <td class="number c-tries">{event.attempts}</td>
              <td class="nowrap c-when">
                <When at={event.createdAt} />
              </td>
              <td class="error-cell" title={event.lastError ?? ''}>
                {event.lastError ?? ''}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Pager({
  data: { events, cursor, isCut },
  isFirst,
  onFirst,
  onNext,
}: {
  data: EventsAnswer
  isFirst: boolean
  onFirst: () => void
  onNext: (cursor: string) => void
}): JSX.Element | null {
  if (isFirst && cursor === null) return null
  return (
    <nav class="pager" aria-label="Pages">
      {isCut && (
        <span class="muted">
          {events.length === 0 ? 'Nothing found so far.' : `${events.length} found so far.`} The search
          stopped after a second, to spare the database.
        </span>
      )}
      <span class="grow" />
      {!isFirst && (
        <button type="button" class="button" onClick={onFirst}>
          First page
        </button>
      )}
      {cursor !== null && (
        <button type="button" class="button" onClick={() => onNext(cursor)}>
          {isCut ? 'Search on' : 'Next page'} <icons.next />
        </button>
      )}
    </nav>
  )
}

/** Whether a key belongs to a text that is being typed. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  )
}
