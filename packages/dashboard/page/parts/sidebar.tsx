import type { JSX } from 'preact'
import { count } from '../format.ts'
import { useLive } from '../live.ts'
import { go, hrefOf } from '../router.ts'
import { icons } from './icons.tsx'

/** The pages, with their names. */
export const pageNames: Readonly<Record<string, string>> = {
  overview: 'Overview',
  events: 'Events',
  failures: 'Failures',
  replay: 'Replay',
  keys: 'Keys',
  destinations: 'Destinations',
  processes: 'Processes',
  mail: 'Mail',
  health: 'Table health',
  audit: 'Audit',
}

/** Pages without a link at the side, and the page whose link is marked instead. */
const within: Readonly<Record<string, string>> = { event: 'events', run: 'replay' }

/** The links to all pages. */
export function Sidebar({
  outbox,
  page,
  outboxes,
}: {
  outbox: string
  page: string
  outboxes: readonly string[]
}): JSX.Element {
  const { state } = useLive()
  const counts = state?.overview.counts
  const numbers: Readonly<Record<string, { value: number; tone: string } | undefined>> = {
    failures: counts && { value: counts.DEAD.count, tone: 'bad' },
    keys: counts && { value: counts.BLOCKED.count, tone: 'held' },
    destinations: state && { value: state.overview.paused.length, tone: 'warn' },
  }
  const current = within[page] ?? page
  return (
    <nav class="sidebar" aria-label="Pages" id="sidebar">
      <a class="brand" href={hrefOf(outbox, 'overview')}>
        <img src="assets/icon.svg" alt="" width="26" height="26" />
        <span>Sendoff</span>
      </a>
      <label class="outbox-choice">
        <span>Outbox</span>
        <select value={outbox} onChange={(event) => go(hrefOf(event.currentTarget.value, 'overview'))}>
          {outboxes.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <ul>
        {Object.entries(pageNames).map(([name, label]) => {
          const Icon = icons[name as keyof typeof icons]
          const number = numbers[name]
          return (
            <li key={name}>
              <a href={hrefOf(outbox, name)} aria-current={name === current ? 'page' : undefined}>
                <Icon />
                <span class="grow">{label}</span>
                {number !== undefined && number.value > 0 && (
                  <span class={`nav-count ${number.tone}`}>{count(number.value)}</span>
                )}
              </a>
            </li>
          )
        })}
      </ul>
    </nav>
  )
}
