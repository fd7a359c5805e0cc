import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import type { HistoryAnswer, StateAnswer } from '../../src/api/answers.ts'
import { outboxPath } from '../api.ts'
import { count, destinationName, duration, estimate, rate, shortDuration } from '../format.ts'
import { useLive, useLoaded } from '../live.ts'
import {
  Badge,
  Card,
  Destination,
  Empty,
  Figure,
  Loading,
  PageHead,
  type Tone,
  Trouble,
} from '../parts/basics.tsx'
import { Chart } from '../parts/chart.tsx'
import { icons } from '../parts/icons.tsx'
import { hrefOf } from '../router.ts'

/** Problems first, then how it goes. */
export function OverviewPage({ outbox }: { outbox: string }): JSX.Element {
  const { state, trouble } = useLive()
  if (state === undefined) {
    return (
      <>
        <PageHead title="Overview" />
        {trouble === undefined ? <Loading /> : <Trouble error={new Error(trouble)} />}
      </>
    )
  }
  const { overview } = state
  return (
    <>
      <PageHead
        title="Overview"
        about={
          <>
            {overview.store.kind} · <span title={overview.store.name}>{shortName(overview.store.name)}</span>{' '}
            · {processesText(overview.processes)}
          </>
        }
      />
      <Problems outbox={outbox} state={state} />
      <Figures outbox={outbox} state={state} />
      <Charts outbox={outbox} />
      <Rates outbox={outbox} state={state} />
    </>
  )
}

/** How long an event may be due before the page calls it late. */
const lateMs = 60_000

interface Problem {
  readonly tone: Tone
  readonly title: string
  readonly text: string
  readonly href: string
  readonly link: string
}

function problemsOf(outbox: string, { overview }: StateAnswer): readonly Problem[] {
  const { counts, oldestDue, paused, parkedKeys, blockedKeys, typesWithoutListener, processes } = overview
  const problems: Problem[] = []
  if (counts.DEAD.count > 0) {
    problems.push({
      tone: 'bad',
      title: `${estimate(counts.DEAD)} dead ${counts.DEAD.count === 1 ? 'event' : 'events'}`,
      text: 'No more attempts are made. Find out why, then replay them.',
      href: hrefOf(outbox, 'failures'),
      link: 'See why',
    })
  }
  if (counts.BLOCKED.count > 0) {
    problems.push({
      tone: 'held',
      title: `${estimate(counts.BLOCKED)} blocked ${counts.BLOCKED.count === 1 ? 'event' : 'events'}`,
      text: `Keys wait for an operator: ${some(blockedKeys.map(nameOfKey))}`,
      href: hrefOf(outbox, 'keys'),
      link: 'Open keys',
    })
  }
  const hasWorker = processes.some(({ mode }) => mode !== null)
  if (oldestDue !== undefined && oldestDue.ageMs > lateMs) {
    problems.push({
      tone: 'warn',
      title: `Delivery lags by ${duration(oldestDue.ageMs)}`,
      text: `${oldestDue.eventType}${oldestDue.destination === '' ? '' : ` for ${oldestDue.destination}`} has been due for the longest.`,
      href: hrefOf(outbox, 'events', { status: 'PENDING', order: 'oldest' }),
      link: 'See what waits',
    })
  }
  if (!hasWorker && counts.PENDING.count > 0) {
    problems.push({
      tone: 'bad',
      title: 'No process delivers',
      text: 'Events wait, and no living process has an outbox that delivers from this table.',
      href: hrefOf(outbox, 'processes'),
      link: 'See processes',
    })
  }
  if (typesWithoutListener.length > 0 && hasWorker) {
    problems.push({
      tone: 'warn',
      title: 'No listener',
      text: `No living process listens to ${some(typesWithoutListener)}`,
      href: hrefOf(outbox, 'processes'),
      link: 'See processes',
    })
  }
  if (paused.length > 0) {
    const names = paused.map((target) =>
      'eventType' in target ? target.eventType : `destination ${destinationName(target.destination)}`,
    )
    problems.push({
      tone: 'warn',
      title: `${paused.length} paused`,
      text: `Nothing is delivered for ${some(names)}`,
      href: hrefOf(outbox, 'destinations'),
      link: 'Open pauses',
    })
  }
  if (parkedKeys.length > 0) {
    problems.push({
      tone: 'held',
      title: `${parkedKeys.length} parked ${parkedKeys.length === 1 ? 'key' : 'keys'}`,
      text: some(parkedKeys),
      href: hrefOf(outbox, 'keys'),
      link: 'Open keys',
    })
  }
  return problems
}

function Problems({ outbox, state }: { outbox: string; state: StateAnswer }): JSX.Element {
  const problems = problemsOf(outbox, state)
  if (problems.length === 0) {
    return (
      <p class="all-well">
        <icons.check /> Nothing needs you. No event is dead, blocked or late.
      </p>
    )
  }
  return (
    <ul class="problems" aria-label="Problems">
      {problems.map(({ tone, title, text, href, link }) => (
        <li key={title} class={`problem ${tone}`}>
          <div>
            <p class="strong">{title}</p>
            <p class="problem-text">{text}</p>
          </div>
          <a class="button" href={href}>
            {link}
          </a>
        </li>
      ))}
    </ul>
  )
}

function Figures({ outbox, state }: { outbox: string; state: StateAnswer }): JSX.Element {
  const { counts, oldestDue, rates } = state.overview
  const perMinute = rates.reduce((sum, { donePerMinute }) => sum + donePerMinute, 0)
  const failed = rates.reduce((sum, each) => sum + each.failedPerMinute + each.deadPerMinute, 0)
  return (
    <div class="figures">
      <Figure
        label="Pending"
        value={estimate(counts.PENDING)}
        note={`${estimate(counts.RETRY)} retrying`}
        href={hrefOf(outbox, 'events', { status: 'PENDING' })}
      />
      <Figure
        label="Oldest due"
        value={oldestDue === undefined ? 'none' : duration(Math.max(0, oldestDue.ageMs))}
        note={oldestDue?.eventType ?? 'nothing waits'}
        tone={oldestDue !== undefined && oldestDue.ageMs > lateMs ? 'warn' : undefined}
        href={hrefOf(outbox, 'events', { status: 'PENDING', order: 'oldest' })}
      />
      <Figure
        label="Dead"
        value={estimate(counts.DEAD)}
        note={counts.DEAD.count === 0 ? 'none' : 'grouped by cause'}
        tone={counts.DEAD.count > 0 ? 'bad' : undefined}
        href={hrefOf(outbox, 'failures')}
      />
      <Figure
        label="Delivered"
        value={`${rate(perMinute)}`}
        note="per minute"
        href={hrefOf(outbox, 'events', { status: 'DONE' })}
      />
      <Figure
        label="Failed attempts"
        value={rate(failed)}
        note="per minute"
        tone={failed > 0 ? 'warn' : undefined}
      />
      <Figure
        label="Kept as done"
        value={estimate(counts.DONE)}
        note="until purged"
        href={hrefOf(outbox, 'events', { status: 'DONE' })}
      />
    </div>
  )
}

/** The name of a file without its folders, which would fill a phone. */
function shortName(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1)
}

function Charts({ outbox }: { outbox: string }): JSX.Element {
  const { depths, beat } = useLive()
  // Minutes change slowly: every tenth message is enough.
  const { data, error } = useLoaded<HistoryAnswer>(outboxPath(outbox, 'history'), Math.floor(beat / 10))
  const minutes = useMemo(() => chartedMinutes(data), [data])
  const depth = useMemo(() => {
    const known = new Map([...(data?.depths ?? []), ...depths].map((point) => [point.at, point]))
    return [...known.values()].sort((a, b) => a.at - b.at)
  }, [data, depths])
  if (error !== undefined && data === undefined) return <Trouble error={error} />

  const times = minutes.map(({ minute }) => minute / 1_000)
  const depthTimes = depth.map(({ at }) => at / 1_000)
  return (
    <div class="charts">
      <Chart
        label="Deliveries per minute"
        times={times}
        format={(value) => count(value)}
        lines={[
          { label: 'done', colour: 'good', values: minutes.map((each) => each.done), isFilled: true },
          { label: 'failed', colour: 'warn', values: minutes.map((each) => each.failed) },
          { label: 'dead', colour: 'bad', values: minutes.map((each) => each.dead) },
        ]}
      />
      <Chart
        label="Time from write to delivery"
        times={times}
        least={10}
        format={(value) => duration(value)}
        tick={shortDuration}
        lines={[
          { label: 'p50', colour: 'accent', values: minutes.map((each) => each.p50) },
          { label: 'p99', colour: 'held', values: minutes.map((each) => each.p99) },
        ]}
      />
      <Chart
        label="Waiting events"
        times={depthTimes}
        format={(value) => count(value)}
        lines={[
          { label: 'pending', colour: 'accent', values: depth.map(({ pending }) => pending), isFilled: true },
          { label: 'dead', colour: 'bad', values: depth.map(({ dead }) => dead) },
        ]}
      />
      <Chart
        label="Age of the oldest due event"
        times={depthTimes}
        least={1_000}
        format={(value) => duration(value)}
        tick={shortDuration}
        lines={[{ label: 'lag', colour: 'warn', values: depth.map(({ lagMs }) => lagMs), isFilled: true }]}
      />
      <Chart
        label="Straight from the commit (hot share)"
        times={times}
        max={100}
        format={(value) => `${Math.round(value)} %`}
        lines={[{ label: 'hot', colour: 'good', values: minutes.map((each) => each.hot), isFilled: true }]}
      />
      <Chart
        label="Time in listeners"
        times={times}
        least={10}
        format={(value) => duration(value)}
        tick={shortDuration}
        lines={[
          { label: 'p50', colour: 'accent', values: minutes.map((each) => each.listener50) },
          { label: 'p99', colour: 'held', values: minutes.map((each) => each.listener99) },
        ]}
      />
    </div>
  )
}

/**
 * The last hour as the charts show it: a minute without deliveries has no latency. The minute under way is
 * left out, because it would look as if deliveries had stopped, unless they have just begun.
 */
function chartedMinutes(data: HistoryAnswer | undefined) {
  const { minutes = [] } = data ?? {}
  const whole = minutes.slice(0, -1)
  const isNew = whole.every(({ done, failed, dead }) => done + failed + dead === 0)
  return (isNew ? minutes : whole).map(({ minute, done, failed, dead, hotShare, delivery, listener }) => ({
    minute,
    done,
    failed,
    dead,
    hot: hotShare === null ? null : hotShare * 100,
    p50: delivery.p50Ms ?? null,
    p99: delivery.p99Ms ?? null,
    listener50: listener.p50Ms ?? null,
    listener99: listener.p99Ms ?? null,
  }))
}

function Rates({ outbox, state }: { outbox: string; state: StateAnswer }): JSX.Element {
  const { rates, paused, groups } = state.overview
  const rows = useMemo(() => {
    const types = new Map<string, { eventType: string; destination: string }>()
    for (const { eventType, destination } of [...rates, ...groups]) {
      if (destination.endsWith('/filtered')) continue
      types.set(JSON.stringify([eventType, destination]), { eventType, destination })
    }
    return [...types.values()].slice(0, 50).map((kind) => {
      const same = (each: typeof kind): boolean =>
        each.eventType === kind.eventType && each.destination === kind.destination
      const of = (status: string): number =>
        groups.find((group) => same(group) && group.status === status)?.count ?? 0
      return { ...kind, rate: rates.find(same), pending: of('NEW') + of('RETRY'), dead: of('DEAD') }
    })
  }, [rates, groups])
  return (
    <Card title="Event types" flush>
      {rows.length === 0 ? (
        <Empty title="No events yet">When a service writes events, they show up here.</Empty>
      ) : (
        <div class="table-box" tabIndex={0} role="region" aria-label="Event types">
          <table class="cards four">
            <thead>
              <tr>
                <th>Type</th>
                <th>Destination</th>
                <th class="number">Done / min</th>
                <th class="number">Failed / min</th>
                <th class="number">p50</th>
                <th class="number">p99</th>
                <th class="number">Pending</th>
                <th class="number">Dead</th>
              </tr>
            </thead>
            <tbody>
              {rows.map(({ eventType, destination, rate: each, pending, dead }) => (
                <tr key={`${eventType} ${destination}`}>
                  <td>
                    <a href={hrefOf(outbox, 'events', { eventType, destination })}>{eventType}</a>{' '}
                    {paused.some((target) => 'eventType' in target && target.eventType === eventType) && (
                      <Badge tone="warn">paused</Badge>
                    )}
                  </td>
                  <td data-label="Destination">
                    <Destination name={destination} />
                  </td>
                  <td class="number" data-label="Done / min">
                    {rate(each?.donePerMinute ?? 0)}
                  </td>
                  <td
                    data-label="Failed / min"
                    class={`number ${each && each.failedPerMinute + each.deadPerMinute > 0 ? 'warn-text' : ''}`}
                  >
                    {rate((each?.failedPerMinute ?? 0) + (each?.deadPerMinute ?? 0))}
                  </td>
                  <td class="number" data-label="p50">
                    {duration(each?.delivery.p50Ms)}
                  </td>
                  <td class="number" data-label="p99">
                    {duration(each?.delivery.p99Ms)}
                  </td>
                  <td class="number" data-label="Pending">
                    {count(pending)}
                  </td>
                  <td class={`number ${dead > 0 ? 'bad-text' : ''}`} data-label="Dead">
                    {count(dead)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  )
}

function nameOfKey({ orderingKey, destination }: StateAnswer['overview']['blockedKeys'][number]): string {
  return destination === '' ? orderingKey : `${orderingKey} for ${destination}`
}

function some(names: readonly string[]): string {
  const more = names.length > 4 ? ` and ${names.length - 4} more` : ''
  return `${names.slice(0, 4).join(', ')}${more}.`
}

function processesText(processes: StateAnswer['overview']['processes']): string {
  const workers = processes.filter(({ mode }) => mode !== null)
  const hosts = new Set(workers.map(({ report }) => report?.host)).size
  if (workers.length === 0) return 'no workers'
  const plural = (value: number, word: string): string => `${value} ${word}${value === 1 ? '' : 's'}`
  return `${plural(workers.length, 'worker')} on ${plural(hosts, 'host')}`
}
