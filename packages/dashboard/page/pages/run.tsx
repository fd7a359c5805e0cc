import type { JSX } from 'preact'
import type { RunState } from '../../src/live/plan-runs.ts'
import { outboxPath, post } from '../api.ts'
import { count } from '../format.ts'
import { useLive, useLoaded } from '../live.ts'
import { Badge, Card, Loading, PageHead, type Tone, Trouble, When } from '../parts/basics.tsx'
import { useDialogs } from '../parts/dialogs.tsx'
import { icons } from '../parts/icons.tsx'
import { useSession } from '../parts/session.ts'
import { hrefOf, type Place } from '../router.ts'
import { actionText } from './event.tsx'

const tones: Readonly<Record<RunState['state'], Tone>> = {
  running: 'info',
  done: 'good',
  stopped: 'warn',
  failed: 'bad',
}

/** How far a plan is. It goes on when this page is closed. */
export function RunPage({ outbox, query }: Place): JSX.Element {
  const id = query.get('id') ?? ''
  const { state: live, beat } = useLive()
  const { canAct } = useSession()
  const { attempt } = useDialogs()
  const { data, error, reload } = useLoaded<RunState>(
    outboxPath(outbox, `runs/${encodeURIComponent(id)}`),
    beat,
  )
  if (data === undefined) {
    return (
      <>
        <PageHead title="Run" />
        {error === undefined ? <Loading /> : <Trouble error={error} retry={reload} />}
      </>
    )
  }
  const here = live?.runs.find((run) => run.id === id)
  const acted = Math.max(data.acted, here?.acted ?? 0)
  const whole = Math.max(data.count, acted, 1)
  const act = (what: 'stop' | 'resume', done: string): Promise<void> =>
    attempt(async () => {
      await post(outboxPath(outbox, `runs/${encodeURIComponent(id)}/${what}`), {})
      reload()
      return done
    })
  const isRunning = data.state === 'running'
  return (
    <>
      <PageHead
        title={
          <>
            {actionText(data.action)}: {count(acted)} of {count(Math.max(data.count, acted))}{' '}
            <Badge tone={tones[data.state]}>{data.state}</Badge>
          </>
        }
        about={
          <>
            Begun by {data.actor ?? 'unknown'} <When at={data.startedAt} />
            {data.ratePerSecond === null ? '' : `, at most ${data.ratePerSecond} per second`}
          </>
        }
      >
        {canAct && isRunning && (
          <button type="button" class="button danger" onClick={() => void act('stop', 'The run is stopped.')}>
            <icons.stop /> Stop
          </button>
        )}
        {canAct && data.state !== 'done' && !data.isHere && (
          <button type="button" class="button primary" onClick={() => void act('resume', 'The run goes on.')}>
            <icons.play /> {isRunning ? 'Take over here' : 'Resume'}
          </button>
        )}
      </PageHead>
      {error !== undefined && <Trouble error={error} />}
      <Card>
        <progress class="progress" value={acted} max={whole} aria-label="Progress" />
        <p class="row-between muted">
          <span>
            {count(acted)} changed
            {data.held > 0 && `, ${count(data.held)} left alone, because workers hold them`}
          </span>
          <span>
            Last step <When at={data.updatedAt} />
          </span>
        </p>
        {isRunning && !data.isHere && (
          <p class="muted">
            Another process runs it, or the one that did was killed. If there is no step for a while, take it
            over.
          </p>
        )}
        {data.error !== null && <p class="bad-text">{data.error}</p>}
      </Card>
      <p>
        <a href={hrefOf(outbox, 'audit')}>All runs stand in the audit</a>
      </p>
    </>
  )
}
