import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { DestinationsAnswer } from '../../src/api/answers.ts'
import { outboxPath, post } from '../api.ts'
import { destinationName, estimate, rate } from '../format.ts'
import { useLive, useLoaded } from '../live.ts'
import { Badge, Card, Empty, Loading, PageHead, Trouble, When } from '../parts/basics.tsx'
import { useDialogs } from '../parts/dialogs.tsx'
import { icons } from '../parts/icons.tsx'
import { useSession } from '../parts/session.ts'
import { hrefOf } from '../router.ts'

type State = DestinationsAnswer['destinations'][number]

/** The destinations with their health, and what is paused. */
export function DestinationsPage({ outbox }: { outbox: string }): JSX.Element {
  const { beat } = useLive()
  const { data, error, reload } = useLoaded<DestinationsAnswer>(outboxPath(outbox, 'destinations'), beat)
  return (
    <>
      <PageHead
        title="Destinations"
        about={
          data?.routingVersion == null
            ? 'This outbox has no routing: every event has one destination.'
            : `Routing of version ${data.routingVersion}.`
        }
      />
      {error !== undefined && <Trouble error={error} retry={reload} />}
      {data === undefined && error === undefined && <Loading />}
      <ul class="tiles" aria-label="Destinations">
        {data?.destinations.filter(isWorthATile).map((each) => (
          <DestinationTile key={each.destination} outbox={outbox} state={each} reload={reload} />
        ))}
      </ul>
      <PausedTypes outbox={outbox} />
    </>
  )
}

/** With a routing, events without a destination are rare: the tile shows up when there are some. */
function isWorthATile({ destination, pending, dead }: State, _index: number, all: readonly State[]): boolean {
  return destination !== '' || all.length === 1 || pending.count + dead.count > 0
}

/** The worst state of the circuit breakers of all processes. */
function breakerOf({ processes }: State): 'open' | 'halfOpen' | 'closed' | null {
  const states = processes.map(({ circuitBreaker }) => circuitBreaker)
  return (['open', 'halfOpen', 'closed'] as const).find((state) => states.includes(state)) ?? null
}

function DestinationTile({
  outbox,
  state,
  reload,
}: {
  outbox: string
  state: State
  reload: () => void
}): JSX.Element {
  const { canAct } = useSession()
  const { attempt } = useDialogs()
  const { destination, isPaused, perMinute, errors, processes } = state
  const breaker = breakerOf(state)
  const set = (action: 'pause' | 'resume'): Promise<void> =>
    attempt(async () => {
      await post(outboxPath(outbox, action), { destination })
      reload()
      return action === 'pause' ? `${destination} is paused.` : `${destination} goes on.`
    })
  const health = isPaused ? (
    <Badge tone="warn">paused</Badge>
  ) : breaker === 'open' ? (
    <Badge tone="bad">breaker open</Badge>
  ) : breaker === 'halfOpen' ? (
    <Badge tone="warn">breaker half open</Badge>
  ) : perMinute.failed + perMinute.dead > 0 ? (
    <Badge tone="warn">failing</Badge>
  ) : (
    <Badge tone="good">ok</Badge>
  )
  const listening = processes.filter(({ hasListener }) => hasListener).length
  return (
    <li class="card tile">
      <div class="row-between">
        <h2>{destinationName(destination)}</h2>
        {health}
      </div>
      <dl class="facts">
        <Fact name="Pending">
          <a href={hrefOf(outbox, 'events', { destination, status: 'PENDING' })}>{estimate(state.pending)}</a>
        </Fact>
        <Fact name="Dead">
          <a
            class={state.dead.count > 0 ? 'bad-text' : ''}
            href={hrefOf(outbox, 'events', { destination, status: 'DEAD' })}
          >
            {estimate(state.dead)}
          </a>
        </Fact>
        <Fact name="Done per minute">{rate(perMinute.done)}</Fact>
        <Fact name="Failed per minute">{rate(perMinute.failed + perMinute.dead)}</Fact>
        <Fact name="Last success">
          <When at={state.lastSuccessAt} />
        </Fact>
        {destination !== '' && (
          <Fact name="Listening">
            {listening} of {processes.length} {processes.length === 1 ? 'process' : 'processes'}
          </Fact>
        )}
        {!state.isRouted && <Fact name="Routing">no rule leads here any more</Fact>}
      </dl>
      {errors.length > 0 && (
        <p class="small clip-3">
          <span class="muted">Errors:</span>{' '}
          {errors.slice(0, 4).map(({ errorClass, count }) => (
            <span key={errorClass}>
              <Badge tone="bad">
                {errorClass || 'unknown'} {count}
              </Badge>{' '}
            </span>
          ))}
        </p>
      )}
      {canAct && destination !== '' && (
        <div class="actions">
          {isPaused ? (
            <button type="button" class="button" onClick={() => void set('resume')}>
              <icons.play /> Resume {destination}
            </button>
          ) : (
            <button type="button" class="button" onClick={() => void set('pause')}>
              <icons.pause /> Pause {destination}
            </button>
          )}
        </div>
      )}
    </li>
  )
}

function Fact({
  name,
  children,
}: {
  name: string
  children: JSX.Element | JSX.Element[] | string | (string | number)[]
}): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function PausedTypes({ outbox }: { outbox: string }): JSX.Element {
  const { state } = useLive()
  const { canAct } = useSession()
  const { attempt } = useDialogs()
  const [type, setType] = useState('')
  const paused =
    state?.overview.paused.flatMap((target) => ('eventType' in target ? [target.eventType] : [])) ?? []
  const set = (action: 'pause' | 'resume', eventType: string): Promise<void> =>
    attempt(async () => {
      await post(outboxPath(outbox, action), { eventType })
      setType('')
      return action === 'pause' ? `${eventType} is paused.` : `${eventType} goes on.`
    })
  return (
    <Card title="Paused event types">
      {paused.length === 0 ? (
        <Empty title="No type is paused" />
      ) : (
        <ul class="rows plain" aria-label="Paused event types">
          {paused.map((eventType) => (
            <li key={eventType} class="row-between">
              <span class="strong">{eventType}</span>
              {canAct && (
                <button type="button" class="button" onClick={() => void set('resume', eventType)}>
                  <icons.play /> Resume {eventType}
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
      {canAct && (
        <form
          class="inline-form"
          onSubmit={(event) => {
            event.preventDefault()
            if (type.trim() !== '') void set('pause', type.trim())
          }}
        >
          <input
            aria-label="Event type to pause"
            placeholder="Event type"
            list="types"
            value={type}
            onInput={(event) => setType(event.currentTarget.value)}
          />
          <datalist id="types">
            {[...new Set(state?.overview.groups.map(({ eventType }) => eventType))].map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
          <button type="submit" class="button">
            <icons.pause /> Pause type
          </button>
        </form>
      )}
    </Card>
  )
}
