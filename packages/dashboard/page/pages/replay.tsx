import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Plan } from 'sendoff/admin'
import { outboxPath, post } from '../api.ts'
import { count, destinationName } from '../format.ts'
import { Badge, Card, Empty, EventLink, PageHead, Trouble } from '../parts/basics.tsx'
import { useDialogs } from '../parts/dialogs.tsx'
import { icons } from '../parts/icons.tsx'
import { useSession } from '../parts/session.ts'
import { go, hrefOf, type Place } from '../router.ts'
import { filterFields } from './events.tsx'

const actions = {
  replay: { verb: 'Replay', does: 'makes dead events new, and due at once', state: 'DEAD' },
  cancel: { verb: 'Cancel', does: 'makes pending events dead', state: 'PENDING' },
  skip: { verb: 'Skip', does: 'makes blocked events dead, so that their keys continue', state: 'BLOCKED' },
  purge: { verb: 'Delete', does: 'deletes done and dead events for good', state: 'DEAD' },
} as const

type Action = keyof typeof actions

/** Choose, see what it would do, set a pace, begin. */
export function ReplayPage({ outbox, query }: Place): JSX.Element {
  const { canAct, isAdmin, canSearchText } = useSession()
  const [action, setAction] = useState<Action>(() => actionFor(query.get('status')))
  const [filter, setFilter] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries([...query].filter(([name]) => name in filterFields)),
  )
  const [reason, setReason] = useState('')
  const [plan, setPlan] = useState<Plan>()
  const [error, setError] = useState<Error>()
  const [isBusy, setBusy] = useState(false)
  if (!canAct)
    return <PageHead title="Replay" about="Your role only reads. Ask an operator to act on events." />

  const change = (next: Readonly<Record<string, string>>): void => {
    setFilter(next)
    setPlan(undefined)
  }
  const preview = async (): Promise<void> => {
    setBusy(true)
    setError(undefined)
    try {
      const isAll = Object.keys(filter).length === 0
      setPlan(
        await post<Plan>(outboxPath(outbox, 'plans'), {
          action,
          filter: { ...filter, ...(action === 'purge' && { status: query.get('status') ?? 'DEAD' }) },
          ...(reason !== '' && { reason }),
          ...(isAll && { all: true }),
        }),
      )
    } catch (failure) {
      setError(failure as Error)
    } finally {
      setBusy(false)
    }
  }
  const names = Object.keys(filterFields).filter((name) => name !== 'text' || canSearchText)
  return (
    <>
      <PageHead title="Replay" about="Choose events, look at what would happen, then begin." />
      <ol class="steps" aria-label="Steps">
        <li aria-current={plan === undefined ? 'step' : undefined}>1. Choose</li>
        <li aria-current={plan === undefined ? undefined : 'step'}>2. Check and begin</li>
        <li>3. Watch</li>
      </ol>
      <Card title="Which events">
        <form
          class="wizard"
          onSubmit={(event) => {
            event.preventDefault()
            void preview()
          }}
        >
          <label class="field">
            <span>Action</span>
            <select
              value={action}
              onChange={(event) => {
                setAction(event.currentTarget.value as Action)
                setPlan(undefined)
              }}
            >
              {(Object.keys(actions) as Action[])
                .filter((name) => name !== 'purge' || isAdmin)
                .map((name) => (
                  <option key={name} value={name}>
                    {actions[name].verb}: {actions[name].does}
                  </option>
                ))}
            </select>
          </label>
          <div class="wizard-fields">
            {names.map((name) => (
              <label key={name} class="field">
                <span>{filterFields[name]}</span>
                <input
                  name={name}
                  type={(name === 'since' || name === 'until' ? 'datetime-local' : 'text') as 'text'}
                  placeholder={name === 'destination' && filter[name] === '' ? 'default' : 'any'}
                  value={inputValue(name, filter[name])}
                  onInput={(event) => change(changed(filter, name, event.currentTarget.value))}
                />
              </label>
            ))}
            {(action === 'cancel' || action === 'skip') && (
              <label class="field">
                <span>Reason, for the record</span>
                <input
                  value={reason}
                  onInput={(event) => {
                    setReason(event.currentTarget.value)
                    setPlan(undefined)
                  }}
                />
              </label>
            )}
          </div>
          <div class="actions">
            <button type="submit" class="button primary" disabled={isBusy}>
              {isBusy ? 'Counting…' : 'Preview'}
            </button>
          </div>
        </form>
      </Card>
      {error !== undefined && <Trouble error={error} />}
      {plan !== undefined && <Preview outbox={outbox} plan={plan} />}
    </>
  )
}

function Preview({ outbox, plan }: { outbox: string; plan: Plan }): JSX.Element {
  const { ask, attempt } = useDialogs()
  const [pace, setPace] = useState('50')
  const { verb } = actions[plan.action]
  const number = `${plan.isExact ? '' : 'at least '}${count(plan.count)}`
  const events = plan.count === 1 ? 'event' : 'events'
  const begin = async (): Promise<void> => {
    const isAgreed =
      plan.action === 'replay' ||
      (await ask({
        title: `${verb} ${number} ${events}?`,
        text:
          plan.action === 'purge'
            ? 'They are deleted for good.'
            : 'They become DEAD. A replay brings them back.',
        confirm: `${verb} ${number} ${events}`,
        isDanger: true,
      })) !== undefined
    if (!isAgreed) return
    await attempt(async () => {
      const body = { plan, ...(pace !== '' && { ratePerSecond: Number(pace) }) }
      const { id } = await post<{ id: string }>(outboxPath(outbox, 'runs'), body)
      go(hrefOf(outbox, 'run', { id }))
      return undefined
    })
  }
  if (plan.count === 0 && plan.isExact) {
    return (
      <section class="card">
        <Empty title="Nothing matches">Widen the filter, and preview again.</Empty>
      </section>
    )
  }
  return (
    <Card
      title={
        <span id="plan-count">
          {number} {events} {plan.count === 1 ? 'matches' : 'match'}
        </span>
      }
    >
      <p class="muted">Events that are written or fail from now on are left alone, even if they match.</p>
      <ul class="samples" aria-label="Sample">
        {plan.sample.map((event) => (
          <li key={`${event.eventId} ${event.destination}`}>
            <EventLink outbox={outbox} event={event} />
            <span>
              {event.eventType}{' '}
              {event.destination !== '' && <Badge tone="quiet">{destinationName(event.destination)}</Badge>}
            </span>
            <span class="muted clip">{event.lastError}</span>
          </li>
        ))}
      </ul>
      <div class="pace">
        <label class="field">
          <span>Events per second at most</span>
          <input
            type="number"
            min="0.1"
            step="any"
            placeholder="no limit"
            value={pace}
            onInput={(event) => setPace(event.currentTarget.value)}
          />
        </label>
        <button type="button" class="button primary" onClick={() => void begin()}>
          <icons.play /> {verb} {number} {events}
        </button>
      </div>
      {pace !== '' && plan.isExact && Number(pace) > 0 && (
        <p class="muted small">That takes about {Math.max(1, Math.ceil(plan.count / Number(pace)))} s.</p>
      )}
    </Card>
  )
}

function actionFor(status: string | null): Action {
  if (status === 'BLOCKED') return 'skip'
  if (status === 'PENDING' || status === 'NEW' || status === 'RETRY') return 'cancel'
  return 'replay'
}

function changed(
  filter: Readonly<Record<string, string>>,
  name: string,
  value: string,
): Readonly<Record<string, string>> {
  const { [name]: _, ...rest } = filter
  if (value === '') return rest
  const isTime = name === 'since' || name === 'until'
  return { ...rest, [name]: isTime ? String(Date.parse(value)) : value }
}

function inputValue(name: string, value: string | undefined): string {
  if (value === undefined || (name !== 'since' && name !== 'until')) return value ?? ''
  const at = new Date(Number(value))
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
