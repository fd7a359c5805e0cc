import { styleText } from 'node:util'

/** A colour or a weight. */
export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** Gives a text a style; returns it as it is where colours are off. */
export type Paint = (style: Style, text: string) => string

/** Returns the paint for a stream. Only terminals get colours, unless the environment says otherwise. */
export function paintFor(
  stream: { readonly isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>>,
  wanted: boolean,
): Paint {
  if (!wanted || !hasColours(stream, env)) return (_style, text) => text
  return (style, text) => styleText(style, text, { validateStream: false })
}

function hasColours(stream: { readonly isTTY?: boolean }, env: Readonly<Record<string, string | undefined>>) {
  const { NO_COLOR, FORCE_COLOR, TERM } = env
  if (NO_COLOR !== undefined && NO_COLOR !== '') return false
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false'
  return stream.isTTY === true && TERM !== 'dumb'
}
