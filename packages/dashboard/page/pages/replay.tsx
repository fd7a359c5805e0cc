import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Plan } from 'sendoff/admin'
import { outboxPath, post } from '../api.ts'
import { count, destinationName, duration, timeIn } from '../format.ts'
import { Badge, Card, Empty, EventLink, PageHead, Trouble } from '../parts/basics.tsx'
import { useDialogs } from '../parts/dialogs.tsx'
import { icons } from '../parts/icons.tsx'
import { useSession } from '../parts/session.ts'
import { go, hrefOf, type Place } from '../router.ts'
import { filterFields } from './events.tsx'

type Action = Plan['action']

/** What can be done, and to events in which states. */
const actions: Readonly<
  Record<Action, { readonly verb: string; readonly does: string; readonly states: readonly string[] }>
> = {
  replay: { verb: 'Replay', does: 'makes dead events new, and due at once', states: ['DEAD'] },
  cancel: {
    verb: 'Cancel',
    does: 'makes pending events dead',
    states: ['PENDING', 'NEW', 'RETRY', 'BLOCKED'],
  },
  skip: { verb: 'Skip', does: 'makes blocked events dead, so that their keys continue', states: ['BLOCKED'] },
  purge: { verb: 'Delete', does: 'deletes done or dead events for good', states: ['DEAD', 'DONE'] },
}

/** The fields that are always in sight. The others are, once they are filled. */
const mainFields: readonly string[] = ['eventType', 'destination', 'errorClass', 'text']

/** Choose, see what it would do, set a pace, begin. */
export function ReplayPage({ outbox, query }: Place): JSX.Element {
  const { canAct, isAdmin, canSearchText } = useSession()
  const [action, setAction] = useState<Action>(() => actionFor(query.get('status'), isAdmin))
  const { states } = actions[action]
  const [chosenState, setChosenState] = useState(query.get('status') ?? '')
  const status = states.includes(chosenState) ? chosenState : states[0]!
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
          filter: { ...filter, status },
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
  const [shown, more] = [true, false].map((isShown) =>
    names.filter((name) => (mainFields.includes(name) || query.has(name)) === isShown),
  ) as [string[], string[]]
  const field = (name: string): JSX.Element => {
    // The types of Preact know an input of one kind only.
    const kind: 'text' = isTime(name) ? ('datetime-local' as never) : 'text'
    return (
      <label key={name} class="field">
        <span>{filterFields[name]}</span>
        <input
          name={name}
          type={kind}
          placeholder={name === 'destination' && filter[name] === '' ? 'default' : 'any'}
          value={inputValue(name, filter[name])}
          onInput={(event) => change(changed(filter, name, event.currentTarget.value))}
        />
      </label>
    )
  }
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
            {states.length > 1 && (
              <label class="field">
                <span>State</span>
                <select
                  value={status}
                  onChange={(event) => {
                    setChosenState(event.currentTarget.value)
                    setPlan(undefined)
                  }}
                >
                  {states.map((name) => (
                    <option key={name} value={name}>
                      {name.charAt(0) + name.slice(1).toLowerCase()}
                    </option>
                  ))}
                </select>
              </label>
            )}
            {shown.map(field)}
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
          <details>
            <summary>More conditions</summary>
            <div class="wizard-fields">{more.map(field)}</div>
          </details>
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
        <button
          type="button"
          class={`button primary ${plan.action === 'replay' ? '' : 'danger'}`}
          onClick={() => void begin()}
        >
          {plan.action === 'replay' && <icons.play />} {verb} {number} {events}
        </button>
      </div>
      {pace !== '' && plan.isExact && Number(pace) > 0 && (
        <p class="muted small">
          That takes about {duration(Math.max(1_000, (plan.count / Number(pace)) * 1_000))}.
        </p>
      )}
    </Card>
  )
}

function actionFor(status: string | null, isAdmin: boolean): Action {
  if (status === 'BLOCKED') return 'skip'
  if (status === 'DONE' && isAdmin) return 'purge'
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
  return { ...rest, [name]: isTime(name) ? String(Date.parse(value)) : value }
}

function isTime(name: string): boolean {
  return name === 'since' || name === 'until'
}

function inputValue(name: string, value: string | undefined): string {
  if (value === undefined || !isTime(name)) return value ?? ''
  const at = new Date(timeIn(value))
  if (Number.isNaN(at.getTime())) return ''
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
