import { type JSX, render } from 'preact'
import { useEffect, useErrorBoundary, useMemo, useState } from 'preact/hooks'
import type { SessionAnswer } from '../src/api/answers.ts'
import { readSession } from './api.ts'
import './style.css'
import { LiveContext, useStream } from './live.ts'
import { Loading, PageHead, Trouble } from './parts/basics.tsx'
import { DialogProvider } from './parts/dialogs.tsx'
import { type Command, Palette } from './parts/palette.tsx'
import { SessionContext } from './parts/session.ts'
import { pageNames, Sidebar } from './parts/sidebar.tsx'
import { Topbar } from './parts/topbar.tsx'
import { otherTheme, toggleTheme } from './parts/theme.ts'
import { AuditPage } from './pages/audit.tsx'
import { DestinationsPage } from './pages/destinations.tsx'
import { EventPage } from './pages/event.tsx'
import { EventsPage, isTyping } from './pages/events.tsx'
import { FailuresPage } from './pages/failures.tsx'
import { HealthPage } from './pages/health.tsx'
import { KeysPage } from './pages/keys.tsx'
import { MailPage } from './pages/mail.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { ProcessesPage } from './pages/processes.tsx'
import { ReplayPage } from './pages/replay.tsx'
import { RunPage } from './pages/run.tsx'
import { go, hrefOf, type Place, usePlace } from './router.ts'

function App(): JSX.Element {
  const [session, setSession] = useState<SessionAnswer>()
  const [error, setError] = useState<Error>()
  const load = (): void => {
    setError(undefined)
    readSession().then(setSession, setError)
  }
  useEffect(load, [])
  if (error !== undefined) {
    return (
      <main class="alone">
        <Trouble error={error} retry={load} />
      </main>
    )
  }
  if (session === undefined) return <Loading />
  return (
    <SessionContext.Provider value={session}>
      <DialogProvider>
        <Shell session={session} />
      </DialogProvider>
    </SessionContext.Provider>
  )
}

function Shell({ session }: { session: SessionAnswer }): JSX.Element {
  const place = usePlace()
  const { outbox, page } = place
  const isKnown = session.outboxes.includes(outbox)
  const live = useStream(isKnown ? outbox : '')
  const [isPaletteOpen, setPaletteOpen] = useState(false)
  const [isMenuOpen, setMenuOpen] = useState(false)

  useEffect(() => {
    if (outbox === '' || (isKnown && page === '')) {
      go(hrefOf(isKnown ? outbox : session.outboxes[0]!, 'overview'), { replace: true })
    }
  }, [outbox, page])
  useEffect(() => {
    document.title = `${pageNames[page] ?? 'Sendoff'} · ${outbox} · Sendoff`
    setMenuOpen(false)
  }, [location.href])
  useShortcuts(outbox, () => setPaletteOpen(true))
  const commands = useCommands(outbox, session.outboxes)

  return (
    <LiveContext.Provider value={live}>
      <a class="skip-link" href="#content" onClick={() => document.getElementById('content')?.focus()}>
        Skip to the content
      </a>
      <div class={`shell ${isMenuOpen ? 'menu-open' : ''}`}>
        <Sidebar outbox={outbox} page={page} outboxes={session.outboxes} />
        <div class="body">
          <Topbar
            outbox={outbox}
            onSearch={() => setPaletteOpen(true)}
            isMenuOpen={isMenuOpen}
            onMenu={() => setMenuOpen(!isMenuOpen)}
          />
          <main id="content" tabIndex={-1}>
            {isKnown ? (
              <Page key={`${outbox} ${page}`} place={place} />
            ) : (
              <PageHead title="There is no outbox of this name" about="These are here:">
                {session.outboxes.map((name) => (
                  <a key={name} class="button" href={hrefOf(name, 'overview')}>
                    {name}
                  </a>
                ))}
              </PageHead>
            )}
          </main>
        </div>
      </div>
      {isPaletteOpen && <Palette outbox={outbox} commands={commands} close={() => setPaletteOpen(false)} />}
    </LiveContext.Provider>
  )
}

/** A page. A fault in it leaves the rest of the window as it is. */
function Page({ place }: { place: Place }): JSX.Element {
  const [fault, reset] = useErrorBoundary((error) => reportError(error)) as [Error | undefined, () => void]
  if (fault === undefined) return <ChosenPage place={place} />
  return <Trouble title="This page cannot be shown" error={fault} retry={reset} />
}

function ChosenPage({ place }: { place: Place }): JSX.Element {
  const { outbox, page } = place
  switch (page) {
    case 'overview':
      return <OverviewPage outbox={outbox} />
    case 'events':
      return <EventsPage {...place} />
    case 'event':
      return <EventPage {...place} />
    case 'failures':
      return <FailuresPage outbox={outbox} />
    case 'replay':
      return <ReplayPage key={place.query.toString()} {...place} />
    case 'run':
      return <RunPage {...place} />
    case 'keys':
      return <KeysPage {...place} />
    case 'destinations':
      return <DestinationsPage outbox={outbox} />
    case 'processes':
      return <ProcessesPage />
    case 'mail':
      return <MailPage {...place} />
    case 'health':
      return <HealthPage outbox={outbox} />
    case 'audit':
      return <AuditPage {...place} />
    default:
      return <PageHead title="There is no such page" about="Choose one at the side." />
  }
}

/** The second key after `g`. */
const goKeys: Readonly<Record<string, string>> = {
  o: 'overview',
  e: 'events',
  f: 'failures',
  r: 'replay',
  k: 'keys',
  d: 'destinations',
  p: 'processes',
  m: 'mail',
  h: 'health',
  a: 'audit',
}

function useShortcuts(outbox: string, openPalette: () => void): void {
  useEffect(() => {
    let isGoing = false
    const press = (event: KeyboardEvent): void => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        openPalette()
        return
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return
      if (document.querySelector('dialog[open]') !== null) return
      const page = isGoing ? goKeys[event.key] : undefined
      isGoing = event.key === 'g'
      if (page !== undefined) go(hrefOf(outbox, page))
      else if (event.key === '/') {
        event.preventDefault()
        const search = document.getElementById('search')
        if (search === null) openPalette()
        else search.focus()
      }
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [outbox])
}

function useCommands(outbox: string, outboxes: readonly string[]): readonly Command[] {
  return useMemo(
    () => [
      ...Object.entries(goKeys).map(([key, page]) => ({
        label: `Go to ${pageNames[page]!.toLowerCase()}`,
        hint: `g ${key}`,
        run: () => go(hrefOf(outbox, page)),
      })),
      { label: 'Show dead events', run: () => go(hrefOf(outbox, 'events', { status: 'DEAD' })) },
      { label: 'Show blocked events', run: () => go(hrefOf(outbox, 'events', { status: 'BLOCKED' })) },
      {
        label: 'Show what has waited for longest',
        run: () => go(hrefOf(outbox, 'events', { status: 'PENDING', order: 'oldest' })),
      },
      ...outboxes
        .filter((name) => name !== outbox)
        .map((name) => ({ label: `Switch to outbox ${name}`, run: () => go(hrefOf(name, 'overview')) })),
      { label: `Use the ${otherTheme()} theme`, run: toggleTheme },
    ],
    [outbox, outboxes],
  )
}

render(<App />, document.getElementById('app')!)
