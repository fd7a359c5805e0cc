import { readFileSync } from 'node:fs'

let text: string | undefined

/** Returns the description of the API, a JSON text. It is read once, when it is first asked for. */
export function openApi(): string {
  text ??= readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')
  return text
}
