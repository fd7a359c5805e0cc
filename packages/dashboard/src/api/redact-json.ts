/** The text that stands in place of a hidden value. */
export const hiddenText = '[redacted]'

/** Paths to hide, as lists of names. `*` stands for any name or index. */
export type RedactedPaths = readonly (readonly string[])[]

/** Reads paths such as `card.number` or `items.*.price`. */
export function readPaths(paths: readonly string[], prefix: string): RedactedPaths {
  return paths
    .filter((path) => path === prefix || path.startsWith(`${prefix}.`))
    .map((path) => path.split('.').slice(1))
}

/**
 * Returns a JSON text in which every value at one of the paths is hidden. All other bytes stay as they are,
 * so that large numbers stay exact. Returns undefined if the text is not JSON, or too deep: then nothing of
 * it may be shown.
 */
export function redactJson(json: string, paths: RedactedPaths): string | undefined {
  try {
    JSON.parse(json)
    return new JsonRedaction(json).run(paths)
  } catch {
    return undefined
  }
}

/** Walks through a valid JSON text, and copies it without the hidden values. */
class JsonRedaction {
  readonly #json: string
  #at = 0
  #copied = 0
  #result = ''

  constructor(json: string) {
    this.#json = json
  }

  run(paths: RedactedPaths): string {
    this.#value(paths)
    return this.#result + this.#json.slice(this.#copied)
  }

  /** Passes one value. `paths` are what is left of the paths that lead to it. */
  #value(paths: RedactedPaths): void {
    this.#space()
    if (paths.some((path) => path.length === 0)) return this.#hide()
    const first = this.#json[this.#at]
    if (first === '{') this.#object(paths)
    else if (first === '[') this.#array(paths)
    else this.#scalar()
  }

  #hide(): void {
    this.#result += this.#json.slice(this.#copied, this.#at) + JSON.stringify(hiddenText)
    this.#value([])
    this.#copied = this.#at
  }

  #object(paths: RedactedPaths): void {
    for (this.#at++; !this.#ends('}');) {
      const start = this.#at
      this.#scalar()
      const name = JSON.parse(this.#json.slice(start, this.#at)) as string
      this.#space()
      this.#at++
      this.#value(below(paths, name))
    }
  }

  #array(paths: RedactedPaths): void {
    this.#at++
    for (let index = 0; !this.#ends(']'); index++) this.#value(below(paths, String(index)))
  }

  /** Passes white space and a comma, or the end of an object or array. Returns whether it was the end. */
  #ends(end: string): boolean {
    this.#space()
    if (this.#json[this.#at] === ',') {
      this.#at++
      this.#space()
    }
    if (this.#json[this.#at] !== end) return false
    this.#at++
    return true
  }

  #scalar(): void {
    if (this.#json[this.#at] !== '"') {
      while (this.#at < this.#json.length && !/[\s,\]}]/.test(this.#json[this.#at]!)) this.#at++
      return
    }
    let end = this.#at
    do {
      end = this.#json.indexOf('"', end + 1)
    } while (this.#isEscaped(end))
    this.#at = end + 1
  }

  /** Whether an odd number of backslashes stands before this place. */
  #isEscaped(at: number): boolean {
    let first = at
    while (this.#json[first - 1] === '\\') first--
    return (at - first) % 2 === 1
  }

  #space(): void {
    while (/\s/.test(this.#json[this.#at] ?? '')) this.#at++
  }
}

function below(paths: RedactedPaths, name: string): RedactedPaths {
  return paths.filter(([first]) => first === name || first === '*').map((path) => path.slice(1))
}
