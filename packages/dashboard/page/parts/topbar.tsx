import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { useLive } from '../live.ts'
import { Badge } from './basics.tsx'
import { icons } from './icons.tsx'
import { useSession } from './session.ts'
import { otherTheme, toggleTheme } from './theme.ts'

/** Search, whether the page is live, and who the visitor is. */
export function Topbar({
  outbox,
  onSearch,
  isMenuOpen,
  onMenu,
}: {
  outbox: string
  onSearch: () => void
  isMenuOpen: boolean
  onMenu: () => void
}): JSX.Element {
  const { state, trouble } = useLive()
  const { actor, role, isReadOnly } = useSession()
  const [theme, setTheme] = useState(otherTheme())
  const live = trouble !== undefined ? 'bad' : state === undefined ? 'wait' : 'good'
  return (
    <>
      <header class="topbar">
        <button
          type="button"
          class="icon-button menu-button"
          aria-label="Menu"
          aria-expanded={isMenuOpen}
          aria-controls="sidebar"
          onClick={onMenu}
        >
          <icons.menu />
        </button>
        <span class="topbar-outbox strong clip">{outbox}</span>
        <button
          type="button"
          class="search-button"
          aria-label="Search or go to… Ctrl K"
          aria-keyshortcuts="Control+K"
          onClick={onSearch}
        >
          <icons.search />
          <span class="grow">Search or go to…</span>
          <kbd>Ctrl K</kbd>
        </button>
        <span class="grow" />
        <span class={`live ${live}`} role="status">
          <span class="dot" aria-hidden="true" />
          <span class="live-text">{{ bad: 'Disconnected', wait: 'Connecting', good: 'Live' }[live]}</span>
        </span>
        <span class="who">
          <span class="clip">{actor}</span> <Badge tone="quiet">{isReadOnly ? 'read-only' : role}</Badge>
        </span>
        <button
          type="button"
          class="icon-button"
          aria-label={`Use the ${theme} theme`}
          onClick={() => {
            toggleTheme()
            setTheme(otherTheme())
          }}
        >
          {theme === 'dark' ? <icons.moon /> : <icons.sun />}
        </button>
      </header>
      {trouble !== undefined && (
        <p class="banner" role="alert">
          {trouble}
        </p>
      )}
    </>
  )
}
