import type { JSX } from 'preact'
import type { DoctorAnswer } from '../../src/api/answers.ts'
import { outboxPath } from '../api.ts'
import { useLoaded } from '../live.ts'
import { Badge, Empty, Loading, PageHead, type Tone, Trouble } from '../parts/basics.tsx'
import { icons } from '../parts/icons.tsx'

const tones: Readonly<Record<string, Tone>> = { error: 'bad', warning: 'warn', info: 'info' }

/** What the doctor finds in the table and its database. */
export function HealthPage({ outbox }: { outbox: string }): JSX.Element {
  const { data, error, isLoading, reload } = useLoaded<DoctorAnswer>(outboxPath(outbox, 'doctor'))
  return (
    <>
      <PageHead
        title="Table health"
        about="What the doctor finds in the schema, the database and the processes. It only reads."
      >
        <button type="button" class="button" onClick={reload} disabled={isLoading}>
          <icons.replay /> Examine again
        </button>
      </PageHead>
      {error !== undefined && <Trouble error={error} retry={reload} />}
      {data === undefined && error === undefined && <Loading />}
      {data?.findings.length === 0 && (
        <section class="card">
          <Empty title="Healthy">The doctor found nothing to mend.</Empty>
        </section>
      )}
      <ul class="findings" aria-label="Findings">
        {data?.findings.map(({ code, severity, message, fix, sql }) => (
          <li key={code + message} class={`card finding ${tones[severity] ?? 'info'}`}>
            <p>
              <Badge tone={tones[severity] ?? 'info'}>{severity}</Badge>{' '}
              <span class="mono strong">{code}</span>
            </p>
            <p>{message}</p>
            <p class="muted">{fix}</p>
            {sql !== undefined && (
              <pre class="code" tabIndex={0}>
                {sql}
              </pre>
            )}
          </li>
        ))}
      </ul>
    </>
  )
}
