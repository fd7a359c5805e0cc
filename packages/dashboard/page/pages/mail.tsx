import type { JSX } from 'preact'
import type { MailsAnswer } from '../../src/api/answers.ts'
import type { EventSummary } from '../../src/api/event-view.ts'
import type { MailView } from '../../src/api/mail-view.ts'
import { outboxPath } from '../api.ts'
import { useLive, useLoaded } from '../live.ts'
import { Card, Empty, FactList, Loading, PageHead, StatusBadge, Trouble, When } from '../parts/basics.tsx'
import { icons } from '../parts/icons.tsx'
import { go, hrefOf, type Place } from '../router.ts'

const states = ['', 'PENDING', 'DEAD', 'DONE']

/** The mails of a mail outbox. */
export function MailPage({ outbox, query }: Place): JSX.Element {
  const { beat } = useLive()
  const status = query.get('status') ?? ''
  const isFirst = !query.has('cursor')
  const shown = status === '' ? {} : { status }
  const path = outboxPath(outbox, `mail?${query.toString()}`)
  const { data, error, reload, isLoading } = useLoaded<MailsAnswer>(path, isFirst ? Math.floor(beat / 3) : 0)
  return (
    <>
      <PageHead title="Mail" about="The mails of this outbox, newest first." />
      <div class="filters">
        <div class="tabs" role="group" aria-label="State">
          {states.map((each) => (
            <button
              key={each}
              type="button"
              aria-pressed={each === status}
              onClick={() => go(hrefOf(outbox, 'mail', each === '' ? {} : { status: each }))}
            >
              {{ '': 'All', PENDING: 'Waiting', DEAD: 'Failed', DONE: 'Sent' }[each]}
            </button>
          ))}
        </div>
      </div>
      {error !== undefined && <Trouble error={error} retry={reload} />}
      {data === undefined && error === undefined && <Loading />}
      {data !== undefined && (
        <Card flush>
          {data.mails.length === 0 && data.cursor !== null ? (
            <Empty title="No mail so far">
              The search stopped after a second, to spare the database. There are older events.
            </Empty>
          ) : data.mails.length === 0 ? (
            <Empty title="No mail here">
              An outbox of mails has a table of its own. Choose it above, if there is one.
            </Empty>
          ) : (
            <ul class={`rows ${isLoading ? 'is-loading' : ''}`} aria-label="Mails">
              {data.mails.map(({ event, mail }) => (
                <li key={event.eventId} class="mail-row">
                  <StatusBadge event={event} />
                  <div class="grow">
                    <p class="clip">
                      <a class="strong" href={hrefOf(outbox, 'event', { id: event.eventId })}>
                        {mail === null
                          ? 'Encrypted or hidden'
                          : mail.subject || mail.template || '(no subject)'}
                      </a>
                    </p>
                    <p class="muted small clip">
                      {mail === null
                        ? event.eventId
                        : `to ${[...mail.to, ...mail.cc, ...mail.bcc].join(', ')}`}
                    </p>
                    {event.lastError !== null && <p class="bad-text small clip">{event.lastError}</p>}
                  </div>
                  <span class="muted small nowrap">
                    <When at={event.createdAt} />
                  </span>
                </li>
              ))}
            </ul>
          )}
          {(data.cursor !== null || !isFirst) && (
            <nav class="pager" aria-label="Pages">
              <span class="grow" />
              {!isFirst && (
                <a class="button" href={hrefOf(outbox, 'mail', shown)}>
                  First page
                </a>
              )}
              {data.cursor !== null && (
                <a class="button" href={hrefOf(outbox, 'mail', { ...shown, cursor: data.cursor })}>
                  {data.mails.length === 0 ? 'Search on' : 'Next page'} <icons.next />
                </a>
              )}
            </nav>
          )}
        </Card>
      )}
    </>
  )
}

/** A mail as its recipient would see it, in a frame that can run and load nothing. */
export function MailPreview({
  outbox,
  event,
  mail,
}: {
  outbox: string
  event: EventSummary
  mail: MailView
}): JSX.Element {
  const search = new URLSearchParams({ destination: event.destination }).toString()
  const facts: readonly [string, string][] = [
    ['From', mail.from],
    ['To', mail.to.join(', ')],
    ['Cc', mail.cc.join(', ')],
    ['Bcc', mail.bcc.join(', ')],
    ['Subject', mail.subject],
    ['Template', mail.template ?? ''],
    ['Attachments', mail.attachments.join(', ')],
  ]
  return (
    <Card title="Mail" aside={<span class="muted small">Pictures from elsewhere are not loaded.</span>}>
      <FactList facts={facts.map(([name, value]) => [name, value === '' ? null : value])} />
      <iframe
        class="mail-frame"
        sandbox=""
        title="Preview of the mail"
        src={`api/${outboxPath(outbox, `mail/${encodeURIComponent(event.eventId)}/preview?${search}`)}`}
      />
    </Card>
  )
}
