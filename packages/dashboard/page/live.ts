import { createContext } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import type { DepthPoint, StateAnswer } from '../src/api/answers.ts'
import { get, outboxPath } from './api.ts'

/** What the stream says. */
export interface Live {
  readonly state: StateAnswer | undefined
  /** Why there is no news; undefined while all is well. */
  readonly trouble: string | undefined
  /** Rises with every message. Parts that show something else read it again then. */
  readonly beat: number
  /** Depths that came since the page was opened. */
  readonly depths: readonly DepthPoint[]
}

export const nothingYet: Live = { state: undefined, trouble: undefined, beat: 0, depths: [] }

/** The news about the outbox that the page shows. */
export const LiveContext = createContext<Live>(nothingYet)

export function useLive(): Live {
  return useContext(LiveContext)
}

/** Follows the stream of an outbox. A hidden page is quiet: it has no stream. */
export function useStream(outbox: string): Live {
  const [live, setLive] = useState<Live>(nothingYet)
  useEffect(() => {
    setLive(nothingYet)
    if (outbox === '') return
    let source: EventSource | undefined
    let again: ReturnType<typeof setTimeout> | undefined
    const trouble = (text: string): void => setLive((before) => ({ ...before, trouble: text }))
    const open = (): void => {
      source?.close()
      clearTimeout(again)
      if (document.hidden) return
      source = new EventSource(`api/${outboxPath(outbox, 'stream')}`)
      source.addEventListener('state', ({ data }) => {
        const state = JSON.parse(data as string) as StateAnswer
        setLive(({ beat, depths }) => ({
          state,
          trouble: undefined,
          beat: beat + 1,
          depths: [...depths.slice(-720), state.depth],
        }))
      })
      source.addEventListener('trouble', ({ data }) => {
        trouble((JSON.parse(data as string) as { message: string }).message)
      })
      source.addEventListener('error', () => {
        if (source?.readyState !== EventSource.CLOSED) {
          trouble('The server cannot be reached. The page keeps trying.')
          return
        }
        // A refused stream is closed for good, and does not say why. Another call does.
        again = setTimeout(open, 5_000)
        get('session').then(
          () => trouble('The server has no room for another live page. This one keeps trying.'),
          (error: Error) => trouble(error.message),
        )
      })
    }
    open()
    document.addEventListener('visibilitychange', open)
    return () => {
      document.removeEventListener('visibilitychange', open)
      source?.close()
      source = undefined
      clearTimeout(again)
    }
  }, [outbox])
  return live
}

/** Something that is read from the server. */
export interface Loaded<Answer> {
  readonly data: Answer | undefined
  readonly error: Error | undefined
  readonly isLoading: boolean
  readonly reload: () => void
}

/** From which time on a read counts as slow, and for how many times as long it is not repeated by itself. */
const slowMs = 300
const restFactor = 30

/**
 * Reads from the server, and again whenever `path` or `beat` changes. Keeps what it has until then. A read that
 * takes long is repeated seldom: an open page must not keep the database busy.
 */
export function useLoaded<Answer>(path: string | undefined, beat = 0): Loaded<Answer> {
  const [loaded, setLoaded] = useState<
    Omit<Loaded<Answer>, 'reload'> & { readonly path: string | undefined }
  >({
    data: undefined,
    error: undefined,
    isLoading: true,
    path,
  })
  const [count, setCount] = useState(0)
  const busy = useRef<string | undefined>(undefined)
  const last = useRef<{ readonly path: string; readonly count: number; readonly restUntil: number }>(
    undefined,
  )
  const pathNow = useRef(path)
  pathNow.current = path
  useEffect(() => {
    // A beat that comes while the one before is still read adds nothing.
    if (path === undefined || busy.current === path) return
    const isRepeated = last.current?.path === path && last.current.count === count
    if (isRepeated && performance.now() < last.current!.restUntil) return
    busy.current = path
    const stop = new AbortController()
    const startedAt = performance.now()
    setLoaded((before) => (before.path === path ? before : { ...before, isLoading: true }))
    void get<Answer>(path, stop.signal)
      .then(
        (data) => ({ data, error: undefined }),
        (error: Error) => ({ error, data: undefined }),
      )
      .then(({ data, error }) => {
        if (busy.current === path) busy.current = undefined
        // A page that has moved on does not want it any more.
        if (error?.name === 'AbortError' || pathNow.current !== path) return
        const tookMs = performance.now() - startedAt
        const restMs = tookMs > slowMs ? tookMs * restFactor : 0
        last.current = { path, count, restUntil: performance.now() + restMs }
        setLoaded((before) => ({
          data: error === undefined ? data : before.path === path ? before.data : undefined,
          error,
          isLoading: false,
          path,
        }))
      })
    return () => {
      if (pathNow.current === path) return
      busy.current = undefined
      stop.abort()
    }
  }, [path, beat, count])
  const isOld = loaded.path !== path
  return { ...loaded, isLoading: loaded.isLoading || isOld, reload: () => setCount((before) => before + 1) }
}
