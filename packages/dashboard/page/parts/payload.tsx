import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { PayloadView } from '../../src/api/event-view.ts'
import { size } from '../format.ts'
import { Badge } from './basics.tsx'
import { hexDump, layOut } from './json-text.ts'

const shownCharacters = 20_000
const shownBytes = 2_048

/** A payload: JSON with exact numbers, or bytes as such. */
export function Payload({
  payload,
  contentType,
}: {
  payload: PayloadView
  contentType: string | null
}): JSX.Element {
  if (payload.kind === 'hidden') return <p class="muted pad">The payload is redacted.</p>
  if (payload.kind === 'json') {
    return (
      <>
        {payload.isRedacted && (
          <p class="pad">
            <Badge tone="held">Redacted</Badge>{' '}
            <span class="muted">Some values are hidden from your role.</span>
          </p>
        )}
        <JsonText json={payload.text} />
      </>
    )
  }
  const bytes = Uint8Array.from(atob(payload.base64), (character) => character.charCodeAt(0))
  const isCut = payload.size > shownBytes
  return (
    <>
      <p class="pad muted">
        {size(payload.size)} of bytes{contentType === null ? '' : `, ${contentType}`}
        {isCut && `; the first ${size(shownBytes)} are shown`}
      </p>
      <pre class="code" tabIndex={0}>
        {hexDump(bytes.subarray(0, shownBytes))}
      </pre>
    </>
  )
}

/** A JSON text, laid out and coloured. */
export function JsonText({ json }: { json: string }): JSX.Element {
  const [isWhole, setWhole] = useState(false)
  const isLong = json.length > shownCharacters && !isWhole
  const pieces = useMemo(() => (isLong ? [] : layOut(json)), [json, isLong])
  return (
    <>
      <pre class="code" tabIndex={0}>
        {isLong
          ? `${json.slice(0, shownCharacters)}…`
          : pieces.map(({ kind, text }, index) =>
              kind === 'mark' ? (
                text
              ) : (
                <span key={index} class={`json-${kind}`}>
                  {text}
                </span>
              ),
            )}
      </pre>
      {isLong && (
        <p class="pad">
          <button type="button" class="button" onClick={() => setWhole(true)}>
            Show all {size(json.length)}
          </button>
        </p>
      )}
    </>
  )
}
