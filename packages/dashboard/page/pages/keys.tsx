import type { JSX } from 'preact'
import type { KeyAnswer, KeysAnswer } from '../../src/api/answers.ts'
import { outboxPath, post } from '../api.ts'
import { count, destinationName } from '../format.ts'
import { useLive, useLoaded } from '../live.ts'
import {
  Badge,
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
import { useDialogs } from '../parts/dialogs.tsx'
import { icons } from '../parts/icons.tsx'
import { useSession } from '../parts/session.ts'
import { hrefOf, type Place } from '../router.ts'

/** Ordering keys that wait: for a retry, or for an operator. */
export function KeysPage({ outbox, query }: Place): JSX.Element {
  const { beat } = useLive()
  const isFirst = !query.has('after')
  const { data, error, reload } = useLoaded<KeysAnswer>(outboxPath(outbox, `keys?${query.toString()}`), beat)
  return (
    <>
      <PageHead
        title="Keys"
        about="Ordering keys that are parked, or whose first event is blocked or has failed. Later events of a key wait behind it."
      />
      {error !== undefined && <Trouble error={error} retry={reload} />}
      {data === undefined && error === undefined && <Loading />}
      {data !== undefined && (
        <Card flush>
          {data.keys.length === 0 ? (
            <Empty title="No key waits">Every ordering key is moving.</Empty>
          ) : (
            <ul class="rows" aria-label="Keys">
              {data.keys.map((key) => (
                <KeyRow
                  key={`${key.destination} ${key.orderingKey}`}
                  outbox={outbox}
                  entry={key}
                  reload={reload}
                />
              ))}
            </ul>
          )}
          {(data.more.length > 0 || !isFirst) && (
            <nav class="pager" aria-label="Pages">
              <span class="grow" />
              {!isFirst && (
                <a class="button" href={hrefOf(outbox, 'keys')}>
                  First page
                </a>
              )}
              {data.more.map((next) => (
                <a key={next.destination} class="button" href={hrefOf(outbox, 'keys', next)}>
                  {next.destination === '' ? 'Next page' : `More of ${next.destination}`} <icons.next />
                </a>
              ))}
            </nav>
          )}
        </Card>
      )}
    </>
  )
}

function KeyRow({
  outbox,
  entry,
  reload,
}: {
  outbox: string
  entry: KeyAnswer
  reload: () => void
}): JSX.Element {
  const { canAct } = useSession()
  const { ask, attempt } = useDialogs()
  const { orderingKey, destination, head, isParked, waiting } = entry
  const act = (action: string, done: string, more: object = {}): Promise<void> =>
    attempt(async () => {
      const path = outboxPath(outbox, `keys/${action}`)
      const { isChanged } = await post<{ isChanged: boolean }>(path, { orderingKey, destination, ...more })
      reload()
      return isChanged ? done : 'Nothing changed: the first event of the key does not wait any more.'
    })
  const skip = async (): Promise<void> => {
    const reason = await ask({
      title: `Skip the first event of ${orderingKey}?`,
      text: 'It becomes DEAD, and the next event of the key has its turn. Order within the key is broken on purpose.',
      confirm: 'Skip it',
      isDanger: true,
      field: { label: 'Reason, for the record', value: 'Skipped.' },
    })
    if (reason !== undefined) await act('skip', `The first event of ${orderingKey} is skipped.`, { reason })
  }
  return (
    <li class="key-row">
      <div class="grow">
        <p>
          <a
            class="strong"
            href={hrefOf(outbox, 'events', { orderingKey, status: 'PENDING', order: 'oldest', destination })}
          >
            {orderingKey}
          </a>{' '}
          {destination !== '' && (
            <span class="muted">
              to <Destination name={destination} />
            </span>
          )}{' '}
          {isParked && <Badge tone="held">PARKED</Badge>} {head !== null && <StatusBadge event={head} />}
        </p>
        {head !== null && (
          <p class="small">
            <EventLink outbox={outbox} event={head}>
              {head.eventType}
            </EventLink>{' '}
            <span class="muted">
              {head.attempts} failed {head.attempts === 1 ? 'attempt' : 'attempts'}, written{' '}
              <When at={head.createdAt} />
            </span>
          </p>
        )}
        {head?.lastError != null && <p class="mono error-text small clip-3">{head.lastError}</p>}
      </div>
      <p class="behind">
        <span class="strong">{waiting >= 1_000 ? '1,000 or more' : count(waiting)}</span>{' '}
        <span class="muted">behind it</span>
      </p>
      {canAct && (
        <div
          class="actions"
          role="group"
          aria-label={`Actions on ${orderingKey} ${destinationName(destination)}`}
        >
          {head !== null && (
            <>
              <button
                type="button"
                class="button"
                onClick={() => void act('retry', `${orderingKey} is retried.`)}
              >
                Retry
              </button>
              <button type="button" class="button" onClick={() => void skip()}>
                Skip
              </button>
            </>
          )}
          {isParked ? (
            <button
              type="button"
              class="button"
              onClick={() => void act('unpark', `${orderingKey} continues.`)}
            >
              Unpark
            </button>
          ) : (
            <button
              type="button"
              class="button"
              onClick={() => void act('park', `${orderingKey} is parked.`)}
            >
              Park
            </button>
          )}
        </div>
      )}
    </li>
  )
}
