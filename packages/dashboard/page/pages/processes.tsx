import type { JSX } from 'preact'
import type { StateAnswer } from '../../src/api/answers.ts'
import { duration } from '../format.ts'
import { useLive } from '../live.ts'
import { Badge, Card, Empty, Loading, PageHead, When } from '../parts/basics.tsx'

type Living = StateAnswer['overview']['processes'][number]

/** Every living process: where it runs, its version, and what it does. */
export function ProcessesPage(): JSX.Element {
  const { state } = useLive()
  const processes = state?.overview.processes ?? []
  const versions = new Set(processes.flatMap(({ report }) => report?.version ?? []))
  return (
    <>
      <PageHead
        title="Processes"
        about="Processes that are registered now. One that crashed leaves when its time is over."
      />
      {state === undefined ? (
        <Loading />
      ) : processes.length === 0 ? (
        <section class="card">
          <Empty title="No living process">Start a process with an outbox, and it shows up here.</Empty>
        </section>
      ) : (
        <Card flush>
          <div class="table-box" tabIndex={0} role="region" aria-label="Processes">
            <table class="cards">
              <thead>
                <tr>
                  <th>Process</th>
                  <th>Mode</th>
                  <th>Version</th>
                  <th>Last report</th>
                  <th class="number">Partitions</th>
                  <th class="number">Holds</th>
                  <th class="number">Queues hot / cold</th>
                  <th class="number">Hot share</th>
                  <th class="wide">Listens to</th>
                </tr>
              </thead>
              <tbody>
                {processes.map((process) => (
                  <ProcessRow key={process.id} process={process} isMixed={versions.size > 1} />
                ))}
              </tbody>
            </table>
          </div>
        </Card>
      )}
    </>
  )
}

function ProcessRow({ process, isMixed }: { process: Living; isMixed: boolean }): JSX.Element {
  const { id, mode, report, reportedAt, startedAt } = process
  return (
    <tr>
      <td class="nowrap">
        <p class="strong">{report?.host ?? 'unknown host'}</p>
        <p class="muted small mono">
          {id}
          {report !== null && ` · pid ${report.pid}`}
        </p>
        <p class="muted small">{startedAt === null ? '' : `up ${duration(Date.now() - startedAt)}`}</p>
      </td>
      <td data-label="Mode">{mode ?? <span class="muted">only writes</span>}</td>
      <td data-label="Version">
        {report === null ? '–' : isMixed ? <Badge tone="warn">{report.version}</Badge> : report.version}
      </td>
      <td class="nowrap" data-label="Last report">
        <When at={reportedAt} />
      </td>
      <td class="number" data-label="Partitions">
        {report?.partitions ?? '–'}
      </td>
      <td class="number" data-label="Holds">
        {report === null ? '–' : report.held.leased + report.held.locked}
      </td>
      <td class="number" data-label="Hot / cold">
        {report === null ? '–' : `${report.queues.hot} / ${report.queues.cold}`}
      </td>
      <td class="number" data-label="Hot share">
        {report?.hotShare == null ? '–' : `${Math.round(report.hotShare * 100)} %`}
      </td>
      <td class="wide" data-label="Listens to">
        {mode === null
          ? '–'
          : report === null
            ? '–'
            : report.types === null
              ? 'every type'
              : report.types.join(', ') || 'nothing'}
        {report?.destinations?.map(({ destination, circuitBreaker, hasListener }) => (
          <span key={destination}>
            {' '}
            <Badge tone={circuitBreaker === 'open' ? 'bad' : hasListener ? 'quiet' : 'warn'}>
              {destination}
              {hasListener ? '' : ' (no listener)'}
              {circuitBreaker === null || circuitBreaker === 'closed' ? '' : `, breaker ${circuitBreaker}`}
            </Badge>
          </span>
        ))}
      </td>
    </tr>
  )
}
