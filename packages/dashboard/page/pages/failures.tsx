import type { JSX } from 'preact'
import type { FailuresAnswer } from '../../src/api/answers.ts'
import { outboxPath } from '../api.ts'
import { count } from '../format.ts'
import { useLive, useLoaded } from '../live.ts'
import { Badge, Destination, Empty, EventLink, Loading, PageHead, Trouble, When } from '../parts/basics.tsx'
import { icons } from '../parts/icons.tsx'
import { useSession } from '../parts/session.ts'
import { hrefOf } from '../router.ts'

type Group = FailuresAnswer['groups'][number]

/** Dead events, grouped by what went wrong. */
export function FailuresPage({ outbox }: { outbox: string }): JSX.Element {
  const { beat } = useLive()
  const { canAct, canSearchText } = useSession()
  const { data, error, reload } = useLoaded<FailuresAnswer>(outboxPath(outbox, 'failures'), beat)
  const most = Math.max(1, ...(data?.groups.map((group) => group.count) ?? []))
  return (
    <>
      <PageHead
        title="Failures"
        about={
          data === undefined
            ? 'Dead events by cause.'
            : `${count(data.examined)} dead ${data.examined === 1 ? 'event' : 'events'} by cause${data.isComplete ? '' : ', the newest ones'}.`
        }
      />
      {error !== undefined && <Trouble error={error} retry={reload} />}
      {data === undefined && error === undefined && <Loading />}
      {data?.groups.length === 0 && (
        <section class="card">
          <Empty title="No dead events">Everything was delivered, or is still being tried.</Empty>
        </section>
      )}
      <ul class="groups" aria-label="Groups of failures">
        {data?.groups.map((group) => {
          const filter = filterOf(group, canSearchText)
          return (
            <li key={`${group.eventType} ${group.destination} ${group.text}`} class="card group">
              <div class="group-count">
                <span class="figure-value bad">{count(group.count)}</span>
                <span class="meter" aria-hidden="true">
                  <span style={{ width: `${(group.count / most) * 100}%` }} />
                </span>
              </div>
              <div class="group-text">
                <p>
                  <span class="strong">{group.eventType}</span>{' '}
                  {group.destination !== '' && (
                    <>
                      <span class="muted">to</span> <Destination name={group.destination} />
                    </>
                  )}{' '}
                  {group.errorClass !== '' && <Badge tone="bad">{group.errorClass}</Badge>}
                </p>
                <p class="mono error-text">{withoutClass(group)}</p>
                <p class="muted small">
                  Last <When at={group.lastAt} />, first <When at={group.firstAt} /> ·{' '}
                  <EventLink outbox={outbox} event={group.sample}>
                    newest example
                  </EventLink>
                </p>
              </div>
              <div class="actions">
                <a class="button" href={hrefOf(outbox, 'events', filter)}>
                  Show events
                </a>
                {canAct && (
                  <a class="button primary" href={hrefOf(outbox, 'replay', filter)}>
                    <icons.replay /> Replay…
                  </a>
                )}
              </div>
            </li>
          )
        })}
      </ul>
    </>
  )
}

/** The error text behind its class, which stands beside the type already. */
function withoutClass({ text, errorClass }: Group): string {
  return errorClass !== '' && text.startsWith(`${errorClass}: `) ? text.slice(errorClass.length + 2) : text
}

/** The filter that finds a group again: its longest words that are the same for all of its events. */
function filterOf(group: Group, canSearchText: boolean): Record<string, string> {
  const { eventType, destination, errorClass, text } = group
  const parts = text.split(/<(?:id|n|time|address|value)>/).map((part) => part.trim())
  const longest = parts.reduce((best, part) => (part.length > best.length ? part : best), '')
  return {
    status: 'DEAD',
    eventType,
    destination,
    ...(errorClass !== '' && { errorClass }),
    ...(canSearchText && longest.length >= 8 && { text: longest.slice(0, 200) }),
  }
}
