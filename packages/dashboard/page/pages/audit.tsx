import type { JSX } from 'preact'
import type { AuditAnswer, AuditPageAnswer } from '../../src/api/answers.ts'
import { outboxPath } from '../api.ts'
import { count, duration, time } from '../format.ts'
import { useLive, useLoaded } from '../live.ts'
import { Badge, Card, Empty, Loading, PageHead, type Tone, Trouble, When } from '../parts/basics.tsx'
import { icons } from '../parts/icons.tsx'
import { go, hrefOf, type Place } from '../router.ts'
import { actionText } from './event.tsx'
import { filterFields } from './events.tsx'

const tones: Readonly<Record<string, Tone>> = { running: 'info', done: 'good', stopped: 'warn' }

/** What operators did. */
export function AuditPage({ outbox, query }: Place): JSX.Element {
  const { beat } = useLive()
  const isFirst = !query.has('cursor')
  const { data, error, reload } = useLoaded<AuditPageAnswer>(
    outboxPath(outbox, `audit?${query.toString()}`),
    isFirst ? beat : 0,
  )
  return (
    <>
      <PageHead title="Audit" about="Every action, who did it, and how many events it changed." />
      {error !== undefined && <Trouble error={error} retry={reload} />}
      {data === undefined && error === undefined && <Loading />}
      {data !== undefined && (
        <Card flush>
          {data.entries.length === 0 ? (
            <Empty title="No entries">Every replay, skip or pause leaves an entry here.</Empty>
          ) : (
            <div class="table-box" tabIndex={0} role="region" aria-label="Audit">
              <table class="cards two">
                <thead>
                  <tr>
                    <th>When</th>
                    <th>Who</th>
                    <th>Action</th>
                    <th class="number">Changed</th>
                    <th class="wide">About</th>
                  </tr>
                </thead>
                <tbody>
                  {data.entries.map((entry) => (
                    <tr key={entry.id}>
                      <td class="nowrap" data-label="When">
                        <When at={entry.at} />
                      </td>
                      <td data-label="Who">{entry.actor ?? <span class="muted">unknown</span>}</td>
                      <td data-label="Action">
                        {entry.isPlan ? (
                          <a href={hrefOf(outbox, 'run', { id: entry.id })}>{actionText(entry.action)}</a>
                        ) : (
                          actionText(entry.action)
                        )}{' '}
                        {entry.state !== null && (
                          <Badge tone={tones[entry.state] ?? 'quiet'}>{entry.state}</Badge>
                        )}
                      </td>
                      <td class="number" data-label="Changed">
                        {entry.affected === 0 && !entry.isPlan ? '–' : count(entry.affected)}
                      </td>
                      <td class="wide" data-label="About">
                        <About entry={entry} />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
          {(data.cursor !== null || !isFirst) && (
            <nav class="pager" aria-label="Pages">
              <span class="grow" />
              {!isFirst && (
                <a class="button" href={hrefOf(outbox, 'audit')}>
                  First page
                </a>
              )}
              {data.cursor !== null && (
                <button
                  type="button"
                  class="button"
                  onClick={() => go(hrefOf(outbox, 'audit', { cursor: data.cursor! }))}
                >
                  Next page <icons.next />
                </button>
              )}
            </nav>
          )}
        </Card>
      )}
    </>
  )
}

/** What the audit keeps, in the words of the page. */
const aboutNames: Readonly<Record<string, string>> = {
  ...filterFields,
  text: 'Text',
  status: 'State',
  isBlocked: 'Blocked',
  reason: 'Reason',
  replaces: 'In place of',
  olderThanMs: 'Older than',
  deleted: 'Deleted',
}

const stateNames = ['NEW', 'DONE', 'RETRY', 'DEAD']

/** What an entry is about, in words as far as they are known. */
function About({ entry: { detail } }: { entry: AuditAnswer }): JSX.Element {
  let known: Record<string, unknown> = {}
  try {
    known = JSON.parse(detail ?? '{}') as Record<string, unknown>
  } catch {
    return <span class="mono small">{detail}</span>
  }
  const { filter, count: _, ...rest } = known
  const parts = Object.entries({ ...rest, ...(filter as object | undefined) })
  return (
    <span class="small">
      {parts.map(([name, value]) => (
        <span key={name} class="about">
          <span class="muted">{aboutNames[name] ?? name}</span> {textOf(name, value)}
        </span>
      ))}
    </span>
  )
}

function textOf(name: string, value: unknown): string {
  if (name === 'status' && Array.isArray(value))
    return value.map((code) => stateNames[code as number] ?? String(code)).join(', ')
  if ((name === 'since' || name === 'until') && typeof value === 'number') return time(value)
  if (name === 'olderThanMs' && typeof value === 'number') return duration(value)
  if (value === true) return 'yes'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
